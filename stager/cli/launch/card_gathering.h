// Gathers the members' business cards from what their launcher hears of them, and makes the
// table of all.
//
// Everything on a member's stdout is untrusted: a node has one card, of bounded size, and other
// lines are its messages. A node without an acceptable card is known by its rank and a reason.
#pragma once

#include "stager/cli/common/commands.h"
#include "stager/cli/common/launcher.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stage {

class CardGathering {
  public:
    using Clock = std::chrono::steady_clock;

    /// `names`: the members' nodes by rank; except with srun the first one is this host, and
    /// its command the first. `longest`: from the first card to the last one.
    CardGathering(Launcher launcher, std::vector<std::string> names, Duration longest);

    /// Reads what the commands have put out since the last call. Returns table_line() once all
    /// cards are there, an empty text if one will not come, else nothing.
    [[nodiscard]] std::optional<std::string> look(const std::vector<Ended>& so_far,
                                                  Clock::time_point now = Clock::now());

    /// Why the gathering has failed, if that is due to this member; else empty.
    [[nodiscard]] const std::string& why(std::size_t rank) const { return why_[rank]; }

  private:
    void hear(std::size_t command, const std::string& output);
    void take(std::size_t rank, const std::string& line);
    [[nodiscard]] bool has_failed(const std::vector<Ended>& so_far, Clock::time_point now);

    Launcher launcher_;
    std::vector<std::string> names_;
    Duration longest_;
    std::vector<std::vector<std::byte>> cards_;  ///< By rank; empty: has not come.
    std::set<std::string> claimed_;              ///< claims_of() all of them.
    std::vector<std::string> why_;
    std::vector<std::size_t> heard_;             ///< Bytes of each command's output.
    std::map<std::size_t, std::string> tasks_;   ///< The nodes of srun's tasks.
    std::optional<Clock::time_point> first_at_;  ///< When the first card came.
};

}  // namespace stage
