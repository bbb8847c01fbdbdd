// Whom does the source tell the end?
#include "transport/core/membership/member_ending.h"
#include "transport/core/source/sender_parts.h"

namespace stage::core {
namespace {

/// So many who may not hear the group are told the end one by one.
constexpr std::uint32_t kToldAlone = 64;

}  // namespace

/// Once the verdict stands, everybody is told, more than once. (Of the source only its own disk
/// can say that it is done, whomever a DONE names.)
void Sender::Parts::decide(Instant now) {
    auto ending = verdict.decide(config.source);
    if (!ending || (ending->outcome == 0 && !outcome.held_at)) {
        return;
    }
    ending->outcome = ending->outcome == 0 ? 0 : outcome_of(blame);
    ending->why = why_of(Error{blame, ending->why});
    told.emplace(*std::move(ending));
    if (told->outcome == 0) {
        outcome.phase = Phase::released;
    } else {
        outcome.phase = Phase::failed;
        outcome.culprit = told->rank;
        outcome.why = Error{blame, told->why};
        release_unresponsive();
    }
    server.clear();
    watch.stop();
    end.stop();
    release.start(now);
    stays_until = now + limits.ending.answer_late;
}

/// Those who never answered may not hear the group: they are told the end one by one.
void Sender::Parts::release_unresponsive() {
    std::uint32_t alone = 0;
    for (std::uint32_t i = 0; i < config.members && alone < kToldAlone; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (!readiness.ready().has(rank)) {
            control.push_peer(wire::PacketType::release, rank, wire::write(*told));
            ++alone;
        }
    }
}

}  // namespace stage::core
