#include "tests/sim/world/marks.h"

#include <algorithm>
#include <iterator>

namespace stage::sim {
namespace {

using core::OperationKind;
using wire::PacketType;

struct Member {
    const Host& host;
    bool is_source;

    [[nodiscard]] const core::Outcome& outcome() const { return host.outcome(); }
    [[nodiscard]] const WatchedCore::Did& did() const { return host.core().did(); }
    [[nodiscard]] std::uint64_t sent(PacketType type) const {
        return did().sent[static_cast<std::size_t>(type)];
    }
    [[nodiscard]] std::uint64_t ordered(OperationKind kind) const {
        return did().operations[static_cast<std::size_t>(kind)];
    }
};

struct Way {
    const char* name;
    bool (*took)(const Member&);
};

const Way kWays[] = {
    {"a receiver asks for an OFFER", [](const Member& m) { return m.did().called > 0; }},
    {"smaller packets are agreed on", [](const Member& m) { return m.did().recut > 0; }},
    {"parities are computed",
     [](const Member& m) { return m.ordered(OperationKind::encode) > 0; }},
    {"a chunk is reconstructed",
     [](const Member& m) { return m.ordered(OperationKind::reconstruct) > 0; }},
    {"a descriptor is requested", [](const Member& m) { return m.did().asked_descriptor > 0; }},
    {"the source is asked for a chunk",
     [](const Member& m) { return !m.is_source && m.did().asked_source > 0; }},
    {"the source repeats to the group",
     [](const Member& m) { return m.did().repeated_to_group > 0; }},
    {"a receiver lacks what it is asked for",
     [](const Member& m) {
         return !m.is_source && m.sent(PacketType::lacking) > m.did().busy;
     }},
    {"the source lacks what it is asked for",
     [](const Member& m) { return m.is_source && m.sent(PacketType::lacking) > 0; }},
    {"a member has no room to answer", [](const Member& m) { return m.did().busy > 0; }},
    {"a receiver reads a block back",
     [](const Member& m) { return !m.is_source && m.ordered(OperationKind::load) > 0; }},
    {"a block waits until its place is known",
     [](const Member& m) { return m.host.disk().did().deferred > 0; }},
    {"a block that waited completes in a later turn than what it waited for",
     [](const Member& m) { return m.host.disk().did().apart > 0; }},
    {"several operations complete between two turns",
     [](const Member& m) { return m.host.disk().did().together > 0; }},
    {"a member ends while operations wait for its disk",
     [](const Member& m) { return m.host.disk().did().left > 1; }},
    {"a block is verified again", [](const Member& m) { return m.did().verified_again > 0; }},
    {"multicast does not reach a receiver",
     [](const Member& m) { return m.outcome().was_unreachable; }},
    {"a receiver fetches what others hear",
     [](const Member& m) { return m.sent(PacketType::left) > 0; }},
    {"the source sends nothing to a group that needs nothing",
     [](const Member& m) {
         return m.is_source && m.host.data_sent() == 0 &&
                m.outcome().phase == core::Phase::released;
     }},
    {"a failed receiver says so",
     [](const Member& m) { return m.sent(PacketType::leave) > 0; }},
    {"a failed receiver is dropped",
     [](const Member& m) { return m.is_source && !m.outcome().dropped.empty(); }},
    {"a dropped receiver learns it",
     [](const Member& m) {
         return !m.is_source && m.outcome().phase == core::Phase::failed &&
                m.outcome().why->sentence().find("dropped") != std::string::npos;
     }},
    {"a receiver ends without RELEASE",
     [](const Member& m) { return m.outcome().is_end_unheard; }},
    {"packets of several flows are merged",
     [](const Member& m) {
         return std::ranges::count_if(m.host.received_by_flow(),
                                      [](std::uint64_t packets) { return packets > 0; }) > 1;
     }},
    {"a flow's thread has no free buffers",
     [](const Member& m) { return m.host.flows_full() > 0; }},
    {"a rail without a link is passed over",
     [](const Member& m) { return m.host.driver().passed_over() > 0; }},
    {"a rail takes nothing",
     [](const Member& m) { return m.host.driver().found_blocked() > 0; }},
    {"a process is too slow for its socket",
     [](const Member& m) { return m.host.overflowed() > 0; }},
};

}  // namespace

Marks::Marks() {
    std::ranges::transform(kWays, std::back_inserter(marks_), [](const Way& way) {
        return Mark{.way = way.name};
    });
}

void Marks::add(const World& world) {
    for (std::uint16_t rank = 0; rank < world.plan().members; ++rank) {
        const Member member{.host = world.host(rank), .is_source = rank == world.plan().source};
        for (std::size_t i = 0; i < marks_.size(); ++i) {
            marks_[i].members += kWays[i].took(member) ? 1U : 0U;
        }
    }
}

std::string Marks::table() const {
    std::string text;
    for (const Mark& mark : marks_) {
        const std::string many = std::to_string(mark.members);
        text += std::string(8 - std::min<std::size_t>(many.size(), 8), ' ') + many + "  " +
                mark.way + "\n";
    }
    return text;
}

}  // namespace stage::sim
