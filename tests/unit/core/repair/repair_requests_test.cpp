// Tests which chunks are in flight, and when they may be requested again.
#include "transport/core/repair/repair_requests.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

RepairRequest request_for(unsigned peer, std::initializer_list<std::uint32_t> chunks) {
    RepairRequest request;
    request.id = peer;
    request.peer = rank(peer);
    request.block = block(1);
    request.expires_at = kStart + milliseconds{peer};
    for (const std::uint32_t chunk : chunks) {
        request.add(chunk);
    }
    return request;
}

OpenBlock open_block() {
    OpenBlock open;
    open.have = ChunkSet{10};
    open.asked = ChunkSet{10};
    return open;
}

}  // namespace

TEST_CASE("a request's packet has a run for consecutive chunks") {
    const wire::Request body = request_for(3, {4, 5, 6, 9}).body();
    CHECK(body.id == 3);
    REQUIRE(body.runs.size() == 2);
    CHECK(body.runs[0] == wire::ChunkRun{.block = block(1), .first = 4, .count = 3});
    CHECK(body.runs[1] == wire::ChunkRun{.block = block(1), .first = 9, .count = 1});
}

TEST_CASE("a request gathers chunks that are missing and not requested") {
    OpenBlock open = open_block();
    open.have.add(2);
    open.asked.add(4);
    RepairRequest request;
    request.gather(open, 1, 8, 4);
    const auto expected = request.expected();
    CHECK(std::vector<int>(expected.begin(), expected.end()) == std::vector<int>{1, 3, 5, 6});
}

TEST_CASE("chunks are in flight until they arrive, are refused, or their request ends") {
    RepairRequests requests{4};
    requests.add(request_for(2, {1, 2, 3}));
    requests.add(request_for(3, {4, 5}));
    CHECK(requests.chunks_in_flight() == 5);
    CHECK(requests.count_at(rank(2)) == 1);
    CHECK(requests.on_arrival(0, block(1), 2));
    CHECK_FALSE(requests.on_arrival(0, block(1), 2));
    CHECK_FALSE(requests.on_arrival(0, block(7), 1));
    CHECK(requests.chunks_in_flight() == 4);

    CHECK_FALSE(requests.find(2, rank(3)));
    const auto index = requests.find(3, rank(3));
    REQUIRE(index);
    const std::vector<wire::ChunkRun> runs{{.block = block(1), .first = 5, .count = 100},
                                           {.block = block(2), .first = 4, .count = 1}};
    const RepairRequest refused = requests.refuse(*index, runs);
    CHECK(refused.left == 1);
    CHECK(refused.chunks[0] == 5);
    CHECK(requests.chunks_in_flight() == 3);

    requests.forget(block(1));
    CHECK(requests.is_empty());
    CHECK(requests.chunks_in_flight() == 0);
    CHECK_FALSE(requests.deadline());
}

TEST_CASE("requests end when their time is over, and no earlier") {
    RepairRequests requests{2};
    requests.add(request_for(2, {1}));
    CHECK_FALSE(requests.is_full());
    requests.add(request_for(3, {2}));
    CHECK(requests.is_full());
    CHECK(requests.deadline() == kStart + milliseconds{2});
    CHECK_FALSE(requests.take_expired(kStart + milliseconds{1}));
    const auto expired = requests.take_expired(kStart + milliseconds{2});
    REQUIRE(expired);
    CHECK(expired->peer == rank(2));
    CHECK_FALSE(requests.take_expired(kStart + milliseconds{2}));
    requests.replace_all(kStart + milliseconds{1});
    CHECK(requests.deadline() == kStart + milliseconds{1});
    CHECK(requests.all()[0].is_replaced);
}

TEST_CASE("a chunk of an ended request is free unless another request covers it") {
    const bool is_replaced = GENERATE(false, true);
    OpenBlock open = open_block();
    RepairRequests requests{4};
    RepairRequest other = request_for(3, {2});
    other.is_replaced = is_replaced;
    requests.add(other);
    open.asked.add(1);
    open.asked.add(2);
    requests.give_back(request_for(2, {1, 2}), open);
    CHECK_FALSE(open.asked.has(1));
    CHECK(open.asked.has(2) != is_replaced);
}
