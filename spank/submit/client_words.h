// Separates a client's own options from its command line, and finds their values.
//
// Slurm parses them and shows a plugin only the plugin's own options. But it uses getopt in
// this process: after a parse getopt's optind marks the end of the options and the start of the
// program's or script's arguments.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

struct ClientWords {
    std::span<const std::string> own;     ///< The client's options.
    std::span<const std::string> behind;  ///< A program or script and its arguments, or ":".
};

/// Follows the parses of one client: one per component of a heterogeneous job or step.
class ClientOptions {
  public:
    /// Called when getopt has parsed a component. `end` is its optind, counted from the
    /// client's name, or from the ":" before the component, as 0.
    void on_parsed(std::size_t end) { ends_.push_back(end); }

    /// Returns the words of the component that was parsed last, among the client's arguments
    /// (without its name), which must outlive the result. `is_srun`: components have programs
    /// of their own before the next ":". For a component that is parsed twice (srun
    /// --het-group=0,1, a script's hetjob lines) they are the same, unless another component
    /// follows it on the command line.
    [[nodiscard]] ClientWords of(const std::vector<std::string>& words, bool is_srun) const;

  private:
    std::vector<std::size_t> ends_;
};

/// Returns the value of an option among a client's own words, or nothing; an empty one if it
/// has none. `least`: the shortest abbreviation that getopt accepts, "--jobi" for "--jobid".
[[nodiscard]] std::optional<std::string> argument_value(std::span<const std::string> own,
                                                        std::string_view long_name,
                                                        std::string_view least,
                                                        char short_name = '\0');

}  // namespace stage
