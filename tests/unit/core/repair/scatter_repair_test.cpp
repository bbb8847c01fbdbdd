// Tests which share of a block a receiver requests, and from which member.
#include "transport/core/repair/scatter_repair.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr unsigned kScatterMembers = 6;
constexpr std::uint32_t kScattered = 160;  // Ten shares of 16: two of each receiver.
constexpr ScatterRepair::Room kRoom{.chunks_max = 16, .window = 64, .requests_at_source = 0};

struct Sharer {
    explicit Sharer(unsigned own) : peers{config_of(own, kScatterMembers), prng} {
        open.block = block(1);
        open.chunks = kScattered;
        open.have = ChunkSet{kScattered};
        open.asked = ChunkSet{kScattered};
        repair.begin(kStart, milliseconds{1});
    }

    RepairRequest gather(const ScatterRepair::Room& room = kRoom) const {
        RepairRequest request;
        request.block = open.block;
        repair.gather(open, room, peers, request);
        return request;
    }
    /// Requests the chunks, which count as asked for from then on.
    void request(const RepairRequest& request) {
        for (const std::uint16_t chunk : request.expected()) {
            open.asked.add(chunk);
        }
    }

    Prng prng{1};
    PeerChoice peers;
    ScatterRepair repair{RepairLimits{}, 1000};
    OpenBlock open;
};

}  // namespace

TEST_CASE("each share of a block has one owner, and receivers have as many") {
    std::multiset<unsigned> owned;
    for (unsigned own = 1; own < kScatterMembers; ++own) {
        Sharer sharer{own};
        for (int i = 0; i < 10; ++i) {
            const RepairRequest request = sharer.gather();
            REQUIRE(request.left == 16);
            sharer.request(request);
            if (sharer.repair.is_own(request, sharer.peers)) {
                owned.insert(request.chunks[0] / 16U);
            }
        }
        CHECK(sharer.gather().left == 0);
    }
    CHECK(owned.size() == 10);
    CHECK(std::set<unsigned>(owned.begin(), owned.end()).size() == 10);
}

TEST_CASE("a receiver requests its own share first, and not from the source at first") {
    Sharer sharer{2};
    const RepairRequest own = sharer.gather();
    CHECK(sharer.repair.is_own(own, sharer.peers));
    CHECK(sharer.repair.choose(sharer.open, own, sharer.peers) != rank(0));
    sharer.open.failures = 1;
    CHECK(sharer.repair.choose(sharer.open, own, sharer.peers) == rank(0));
}

TEST_CASE("while the source has requests of this member, others' shares are requested") {
    const Sharer sharer{2};
    ScatterRepair::Room room = kRoom;
    room.requests_at_source = 1;
    CHECK(sharer.repair.is_own(sharer.gather(room), sharer.peers));
    room.requests_at_source = 2;
    CHECK_FALSE(sharer.repair.is_own(sharer.gather(room), sharer.peers));
    room.window = 16 * 5 * 3;  // Three requests are this member's part of a large window.
    CHECK(sharer.repair.is_own(sharer.gather(room), sharer.peers));
}

TEST_CASE("the share of a member that never gave anything passes to the next") {
    Sharer sharer{2};
    sharer.request(sharer.gather());
    const RepairRequest others = sharer.gather();
    const Rank owner = sharer.repair.choose(sharer.open, others, sharer.peers);
    REQUIRE(owner != rank(0));
    sharer.peers.on_lacking(owner);
    CHECK(sharer.repair.choose(sharer.open, others, sharer.peers) == owner);
    sharer.repair.begin(kStart + seconds{1}, milliseconds{1});
    CHECK(sharer.repair.choose(sharer.open, others, sharer.peers) != owner);
    sharer.peers.on_given(owner);
    CHECK(sharer.repair.choose(sharer.open, others, sharer.peers) == owner);
}
