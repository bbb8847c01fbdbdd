// Finds the members that cannot finish.
//
// That is a member that was silent for stall_timeout, although every member that is not done
// reports much more often. Or it is a member that is alive, misses blocks that were sent, and
// in stall_timeout neither held more blocks nor placed a chunk. The final names of the files
// may take longer. If several members are silent and none is heard, the source is named. A
// member that is settled (done, or dropped), or that has not answered an OFFER (see
// readiness.h), is not watched.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/rank_set.h"

#include <optional>
#include <string>
#include <vector>

namespace stage::core {

/// The member that is named as the failed one, and the reason.
struct Accusation {
    Rank rank;
    std::string why;
};

class MemberWatch {
  public:
    MemberWatch(const CoreConfig& config, const Limits& limits, std::uint32_t blocks);

    /// From now on silence counts.
    void start(Instant now);
    void on_heard(Instant now, Rank rank);
    /// The member made progress without a report: it answered an OFFER, or it still hears the
    /// first pass, so its blocks may fill later.
    void on_moved(Instant now, Rank rank);
    /// The counts of a REPORT.
    void on_report(Instant now, Rank rank, std::uint32_t blocks_held, std::uint32_t placed);

    /// The members, of those that are ready and not settled (done or dropped), that cannot
    /// finish; where one failure ends the broadcast only the first, and the others counted.
    /// Looks only when it is time to. `sent`: blocks that were sent completely.
    [[nodiscard]] std::vector<Accusation> poll(Instant now,
                                               const RankSet& ready,
                                               const RankSet& done,
                                               const RankSet& settled,
                                               std::uint32_t sent);
    [[nodiscard]] std::optional<Instant> deadline() const { return next_at_; }
    void stop() { next_at_.reset(); }

  private:
    struct Member {
        Instant heard_at{};
        Instant moved_at{};
        std::uint32_t held = 0;
        std::uint32_t placed = 0;
    };

    [[nodiscard]] Accusation accuse_source(std::uint32_t silent) const;
    [[nodiscard]] std::optional<std::string> why(Instant now,
                                                 Member& member,
                                                 std::uint32_t sent);

    CoreConfig config_;
    EndingLimits limits_;
    Duration timeout_;
    std::uint32_t blocks_;
    std::vector<Member> members_;
    std::optional<Instant> next_at_;
};

}  // namespace stage::core
