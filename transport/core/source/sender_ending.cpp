// Ends the broadcast: the outcome, and RELEASE.
#include "transport/core/membership/member_ending.h"
#include "transport/core/source/sender_parts.h"

namespace stage::core {
namespace {

/// At most this number of members without READY gets RELEASE by unicast.
constexpr std::uint32_t kUnicastReleases = 64;

}  // namespace

/// Once the outcome is decided, RELEASE is repeated to the group. (Only the source's own disk
/// decides whether the source is done, whatever ranks a DONE lists.)
void Sender::Parts::decide(Instant now) {
    auto ending = verdict.decide(config.source);
    if (!ending || (ending->outcome == 0 && !outcome.held_at)) {
        return;
    }
    ending->outcome = ending->outcome == 0 ? 0 : outcome_of(blame);
    ending->why = why_of(Error{blame, ending->why});
    released.emplace(*std::move(ending));
    if (released->outcome == 0) {
        outcome.phase = Phase::released;
    } else {
        outcome.phase = Phase::failed;
        outcome.culprit = released->rank;
        outcome.why = Error{blame, released->why};
        release_unresponsive();
    }
    server.clear();
    watch.stop();
    end.stop();
    release.start(now);
    stays_until = now + limits.ending.answer_late;
}

/// A member that never answered may not hear the group, so it gets RELEASE by unicast.
void Sender::Parts::release_unresponsive() {
    std::uint32_t alone = 0;
    for (std::uint32_t i = 0; i < config.members && alone < kUnicastReleases; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (!readiness.ready().has(rank)) {
            control.push_peer(wire::PacketType::release, rank, wire::write(*released));
            ++alone;
        }
    }
}

}  // namespace stage::core
