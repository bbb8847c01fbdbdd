// Which member can't finish?
//
// One that said nothing for stall_timeout, though everybody who isn't done reports much more
// often; or one that is alive, misses blocks that were sent, and neither holds more of them
// than stall_timeout ago nor had a chunk of any come meanwhile. Files' final names may take
// longer. Where nothing is heard of any of several, it is the source that is deaf. Who is done
// is watched no more, and who has not answered an offer not yet: until it must have
// (readiness.h) it may be silent.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/rank_set.h"

#include <optional>
#include <string>
#include <vector>

namespace stage::core {

/// Who is named, and what is said of it.
struct Accusation {
    Rank rank;
    std::string why;
};

class MemberWatch {
  public:
    MemberWatch(const CoreConfig& config, const EndingLimits& limits, std::uint32_t blocks);

    /// From now on silence counts.
    void start(Instant now);
    void on_heard(Instant now, Rank rank);
    /// It answered an offer, so what it has to do begins now; or the first pass is on, and it
    /// hears that: its blocks may fill later.
    void on_moved(Instant now, Rank rank);
    /// What it said of itself: the counts of a REPORT.
    void on_report(Instant now, Rank rank, std::uint32_t blocks_held, std::uint32_t placed);

    /// The first who can't finish, if it is time to look: of those who are ready and not done.
    /// `sent`: blocks that were sent whole.
    [[nodiscard]] std::optional<Accusation> poll(Instant now,
                                                 const RankSet& ready,
                                                 const RankSet& done,
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

    [[nodiscard]] std::optional<std::string> why(Instant now,
                                                 Member& member,
                                                 std::uint32_t sent);

    CoreConfig config_;
    EndingLimits limits_;
    std::uint32_t blocks_;
    std::vector<Member> members_;
    std::optional<Instant> next_at_;
};

}  // namespace stage::core
