// Tells which of a client's words are its own options, and what they say.
//
// Slurm parses them for itself and shows a plugin none but the plugin's own. But it does so
// with getopt, in this very process: getopt's optind, after a parse, says where the options end
// and the program's or script's own words begin.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

struct ClientWords {
    std::span<const std::string> own;     ///< The client's options.
    std::span<const std::string> behind;  ///< A program or script and what is its own, or ":".
};

/// Follows the parses of one client: one for each component of a heterogeneous job or step.
class ClientOptions {
  public:
    /// getopt has parsed a component, and its optind is `end` now: counted from the client's
    /// name, or from the ":" before the component, which is 0.
    void on_parsed(std::size_t end) { ends_.push_back(end); }

    /// Those of the component that was parsed last, among the client's arguments (without its
    /// name), which outlive the answer. `is_srun`: components have programs of their own before
    /// the next ":". For a component that is parsed twice (srun --het-group=0,1, a script's
    /// hetjob lines) they are the same, unless another component follows it on the command
    /// line.
    [[nodiscard]] ClientWords of(const std::vector<std::string>& words, bool is_srun) const;

  private:
    std::vector<std::size_t> ends_;
};

/// The value of an option among a client's own words, or nothing; an empty one if it has none.
/// `least`: as much of the long name as getopt takes for it, "--jobi" for "--jobid".
[[nodiscard]] std::optional<std::string> argument_value(std::span<const std::string> own,
                                                        std::string_view long_name,
                                                        std::string_view least,
                                                        char short_name = '\0');

}  // namespace stage
