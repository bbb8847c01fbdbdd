#include "transport/core/repair/puller.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <set>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr std::uint32_t kChunksOfBlock = 40;

CoreConfig asker_config(unsigned members, std::uint64_t rate) {
    CoreConfig config = config_of(1, members);
    config.rate_bytes_per_s = rate;
    return config;
}

/// A member of a group with one open block of 40 chunks, none of which is there.
class Asker {
  public:
    explicit Asker(unsigned members,
                   unsigned chunks = kChunksOfBlock,
                   std::uint64_t rate = 100'000'000)
        : puller{asker_config(members, rate), {}, prng}, map{4, 2000, 8} {
        open = map.open(block(1));
        open->chunks = chunks;
    }

    /// The requests of a look at `now`.
    std::vector<std::pair<Rank, wire::Request>> look(Instant now, Position settled) {
        ControlQueue out{1000};
        puller.poll(now, settled, map, out);
        std::vector<std::pair<Rank, wire::Request>> requests;
        for (const Send& send : drained(out)) {
            REQUIRE(send.type == wire::PacketType::request);
            requests.emplace_back(send.to.peer, *wire::read_request(send.body));
        }
        return requests;
    }

    void give(Instant now, Rank from, std::uint32_t chunk) {
        open->have.add(chunk);
        puller.on_arrival(now, from, *open, chunk);
    }

    Prng prng{1};
    Puller puller;
    ChunkMap map;
    OpenBlock* open;
};

std::set<std::uint32_t> chunks_of(const wire::Request& request) {
    std::set<std::uint32_t> chunks;
    for (const wire::ChunkRun& run : request.runs) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            chunks.insert(run.first + i);
        }
    }
    return chunks;
}

constexpr Position kAllOfIt{.block = 4, .chunk = 0};

}  // namespace

TEST_CASE("only what is missing before the settled highest_received is asked for, once") {
    Asker asker{4};
    asker.open->have.add(1);
    const auto requests = asker.look(kStart, {.block = 1, .chunk = 4});
    REQUIRE(requests.size() == 1);
    CHECK(chunks_of(requests[0].second) == std::set<std::uint32_t>{0, 2, 3});
    CHECK(requests[0].first != rank(1));
    CHECK(requests[0].first != rank(0));
    CHECK(asker.look(kStart + milliseconds{2}, {.block = 1, .chunk = 4}).empty());
    CHECK(asker.look(kStart + milliseconds{4}, {.block = 1, .chunk = 5}).size() == 1);
}

TEST_CASE("beside the first pass a small share of the rate is asked for, then all of it") {
    Asker asker{4, 1000};
    std::uint64_t beside = 0;
    std::uint64_t after = 0;
    Instant now = kStart;
    for (int i = 0; i < 1000; ++i) {
        const bool is_over = i >= 500;
        if (i == 500) {
            asker.puller.on_end(now);
        }
        now += microseconds{100};
        for (const auto& [peer, request] : asker.look(now, kAllOfIt)) {
            for (const std::uint32_t chunk : chunks_of(request)) {
                (is_over ? after : beside) += 1;
                asker.puller.on_arrival(now, peer, *asker.open, chunk);  // answered, lost again
            }
        }
    }
    // 100 MB/s are 93 chunks a millisecond: 50 ms of a tenth, then 50 ms of all.
    CHECK(beside > 350);
    CHECK(beside < 600);
    CHECK(after > 3500);
    CHECK(after < 4900);
}

TEST_CASE("a peer that lacks it is not asked again, and another is at once") {
    Asker asker{5, 1};
    std::set<Rank> asked;
    Instant now = kStart;
    for (int i = 0; i < 3; ++i) {
        const auto requests = asker.look(now, kAllOfIt);
        REQUIRE(requests.size() == 1);
        CHECK(asked.insert(requests[0].first).second);
        now += microseconds{100};
        asker.puller.on_lacking(now, requests[0].first, requests[0].second, false, asker.map);
    }
    CHECK(asker.open->failures == 3);
}

TEST_CASE("a busy peer is avoided, but brings the request no closer to the source") {
    Asker asker{20};
    Instant now = kStart;
    unsigned busy = 0;
    for (int turn = 0; turn < 200 && busy < 60; ++turn) {
        for (const auto& [peer, request] : asker.look(now, {.block = 1, .chunk = 1})) {
            CHECK(peer != rank(0));
            now += milliseconds{1};
            asker.puller.on_lacking(now, peer, request, true, asker.map);
            CHECK(asker.open->lacking[(asker.open->lacking_count + 3U) % 4] == peer);
            ++busy;
        }
        REQUIRE(asker.puller.deadline());
        now = std::max(now, *asker.puller.deadline());
    }
    CHECK(busy == 60);
    CHECK(asker.open->failures == 0);
    CHECK(asker.open->refusals == 0);
    CHECK(now > kStart + milliseconds{50});  // and after several they are not asked at once
    asker.give(now, rank(3), 0);
}

TEST_CASE("what is asked for at a time fits the path, and how late its answers are") {
    const bool is_late = GENERATE(false, true);
    Asker asker{64, 2000};
    asker.puller.on_end(kStart);
    Prng chance{5};
    struct Answer {
        Instant at;
        Rank from;
        std::set<std::uint32_t> chunks;
    };
    std::vector<Answer> answers;
    std::size_t under_way = 0;
    std::size_t most = 0;
    for (Duration after{}; after < milliseconds{80}; after += microseconds{50}) {
        const Instant now = kStart + after;
        for (std::size_t i = answers.size(); i-- > 0;) {
            if (answers[i].at > now) {
                continue;
            }
            for (const std::uint32_t chunk : answers[i].chunks) {
                // (It is not kept, so that there is always something to ask for.)
                asker.puller.on_arrival(now, answers[i].from, *asker.open, chunk);
                --under_way;
            }
            answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(i));
        }
        for (const auto& [peer, request] : asker.look(now, kAllOfIt)) {
            const Duration late = is_late ? microseconds{chance.below(4000)} : Duration{};
            answers.push_back({now + microseconds{200} + late, peer, chunks_of(request)});
            under_way += answers.back().chunks.size();
        }
        most = after > milliseconds{40} ? std::max(most, under_way) : most;
    }
    CAPTURE(most);
    CHECK((is_late ? most > 200 : most < 120));
}

TEST_CASE("another's LACKING, or one with another id, changes nothing") {
    Asker asker{5, 1};
    const auto requests = asker.look(kStart, kAllOfIt);
    REQUIRE(requests.size() == 1);
    auto forged = requests[0].second;
    forged.id += 1;
    asker.puller.on_lacking(kStart, requests[0].first, forged, false, asker.map);
    asker.puller.on_lacking(kStart, rank(0), requests[0].second, false, asker.map);
    CHECK(asker.open->failures == 0);
    CHECK(asker.open->asked.has(0));
}

TEST_CASE(
    "silence is timed out, later and later, and after four failures the source is asked") {
    Asker asker{8, 1};
    asker.puller.on_end(kStart);
    std::vector<Rank> asked;
    std::vector<Duration> waits;
    Instant now = kStart;
    while (asked.size() < 7) {
        for (const auto& [peer, request] : asker.look(now, kAllOfIt)) {
            asked.push_back(peer);
            waits.push_back(now - kStart);
        }
        REQUIRE(asker.puller.deadline());
        REQUIRE(*asker.puller.deadline() > now);
        now = *asker.puller.deadline();
    }
    CHECK(waits[2] - waits[1] == waits[1] - waits[0]);  // two lost packets are no congestion
    CHECK(waits[4] - waits[3] > waits[1] - waits[0]);
    CHECK(asked[4] == rank(0));  // 64 of 8 would ask: all
}

TEST_CASE("during the first pass only a member that was refused four times asks the source") {
    Asker asker{8, 1};
    Instant now = kStart;
    unsigned silent = 6;
    unsigned refused = 0;
    for (int round = 0; round < 100; ++round) {
        for (const auto& [peer, request] : asker.look(now, kAllOfIt)) {
            CHECK((peer == rank(0)) == (refused == 4));
            if (peer == rank(0)) {
                return;
            }
            if (silent > 0) {
                --silent;
                continue;
            }
            asker.puller.on_lacking(now, peer, request, false, asker.map);
            ++refused;
        }
        REQUIRE(asker.puller.deadline());
        now = *asker.puller.deadline();
    }
    FAIL("the source was never asked");
}

TEST_CASE("near the end each chunk is asked of three peers, and one answer is enough") {
    Asker asker{8, 5};
    asker.map.close(block(1));
    ChunkMap last{1, 2000, 8};
    OpenBlock* open = last.open(block(0));
    open->chunks = 5;
    asker.puller.on_end(kStart);
    ControlQueue out{100};
    asker.puller.poll(kStart, {.block = 1, .chunk = 0}, last, out);
    const auto sends = drained(out);
    REQUIRE(sends.size() == 3);
    std::set<Rank> peers;
    for (const Send& send : sends) {
        peers.insert(send.to.peer);
        CHECK(chunks_of(*wire::read_request(send.body)).size() == 5);
    }
    CHECK(peers.size() == 3);
    for (std::uint32_t chunk = 0; chunk < 5; ++chunk) {
        open->have.add(chunk);
        asker.puller.on_arrival(kStart + microseconds{50}, *peers.begin(), *open, chunk);
    }
    CHECK_FALSE(asker.puller.deadline());
}

TEST_CASE("a chunk that another request still covers is not asked for a third time") {
    Asker asker{8, 3};
    ChunkMap last{1, 2000, 8};
    OpenBlock* open = last.open(block(0));
    open->chunks = 3;
    asker.puller.on_end(kStart);
    ControlQueue out{100};
    asker.puller.poll(kStart, {.block = 1, .chunk = 0}, last, out);
    const auto sends = drained(out);
    REQUIRE(sends.size() == 3);
    asker.puller.on_lacking(
        kStart, sends[0].to.peer, *wire::read_request(sends[0].body), false, last);
    CHECK(open->asked.count() == 3);
    asker.puller.on_lacking(
        kStart, sends[1].to.peer, *wire::read_request(sends[1].body), false, last);
    CHECK(open->asked.count() == 3);
    asker.puller.on_lacking(
        kStart, sends[2].to.peer, *wire::read_request(sends[2].body), false, last);
    CHECK(open->asked.is_empty());
}

TEST_CASE("a block that is closed is waited for no more") {
    Asker asker{4};
    CHECK_FALSE(asker.look(kStart, kAllOfIt).empty());
    asker.puller.forget(block(1));
    asker.map.close(block(1));
    asker.look(kStart + seconds{2}, kAllOfIt);
    CHECK_FALSE(asker.puller.deadline());
}

TEST_CASE("without a configured rate, many lost chunks lower it") {
    Asker asker{4, 16, 0};
    asker.puller.on_end(kStart);
    const std::uint64_t first = asker.puller.rate_bytes_per_s();
    for (unsigned lost = 0; lost < 64; lost += 16) {
        CHECK(asker.puller.rate_bytes_per_s() == first);
        CHECK(asker.look(kStart + seconds{lost}, kAllOfIt).size() == 1);
    }
    static_cast<void>(asker.look(kStart + seconds{64}, kAllOfIt));
    CHECK(asker.puller.rate_bytes_per_s() == first / 2);
}

TEST_CASE("while the stream lasts, repairs follow its rate, up and down") {
    Prng prng{1};
    Puller puller{asker_config(4, 0), {}, prng};
    puller.on_stream(kStart, {});  // not known yet
    CHECK(puller.rate_bytes_per_s() == Limits{}.rate.start_bytes_per_s);
    puller.on_stream(kStart, {.bytes_per_s = 1'000'000'000});  // a shaper's bucket
    CHECK(puller.rate_bytes_per_s() == 900'000'000);
    puller.on_stream(kStart, {.bytes_per_s = 2'000'000});
    CHECK(puller.rate_bytes_per_s() == 1'800'000);
    puller.on_stream(kStart, {.bytes_per_s = 10});
    CHECK(puller.rate_bytes_per_s() == Limits{}.rate.least_bytes_per_s);
    puller.on_stream(kStart, {.bytes_per_s = 2'000'000});
    puller.on_end(kStart);
    puller.on_stream(kStart, {.bytes_per_s = 500'000'000});
    CHECK(puller.rate_bytes_per_s() == 1'800'000);
}

TEST_CASE("repairs do not follow a stream that pauses, unless nothing else is known") {
    Prng prng{1};
    Puller puller{asker_config(4, 0), {}, prng};
    puller.on_stream(kStart, {.bytes_per_s = 1'000'000, .is_steady = false});
    CHECK(puller.rate_bytes_per_s() == 900'000);
    puller.on_stream(kStart, {.bytes_per_s = 300'000, .is_steady = false});
    CHECK(puller.rate_bytes_per_s() == 900'000);
    puller.on_stream(kStart, {.bytes_per_s = 2'000'000});
    CHECK(puller.rate_bytes_per_s() == 1'800'000);
}

TEST_CASE("what repairs found out during a pause stays until the stream is measured anew") {
    Asker asker{4, 16, 0};
    asker.puller.on_stream(kStart, {.bytes_per_s = 2'000'000});
    asker.puller.on_stream_packet(kStart);
    const Instant later = kStart + seconds{1};  // The stream pauses.
    const auto requests = asker.look(later, kAllOfIt);
    REQUIRE(requests.size() == 1);
    for (std::uint32_t chunk = 0; chunk < 16; ++chunk) {
        asker.give(later + microseconds{100}, requests[0].first, chunk);
    }
    const std::uint64_t found = asker.puller.rate_bytes_per_s();
    CHECK(found > 1'800'000);
    asker.puller.on_stream_packet(later + milliseconds{1});
    asker.puller.on_stream(later + milliseconds{1}, {.bytes_per_s = 2'000'000});
    CHECK(asker.puller.rate_bytes_per_s() == found);
    asker.puller.on_stream(later + milliseconds{1}, {.bytes_per_s = 1'000'000});
    CHECK(asker.puller.rate_bytes_per_s() == 900'000);
}

TEST_CASE(
    "a request of which one chunk was lost raises the rate, one of which more were doesn't") {
    for (const std::uint32_t given : {15U, 13U, 12U, 0U}) {
        CAPTURE(given);
        Asker asker{4, 16, 0};
        asker.puller.on_end(kStart);
        const std::uint64_t before = asker.puller.rate_bytes_per_s();
        const auto requests = asker.look(kStart, kAllOfIt);
        REQUIRE(requests.size() == 1);
        for (std::uint32_t chunk = 0; chunk < given; ++chunk) {
            asker.give(kStart + microseconds{100}, requests[0].first, chunk);
        }
        static_cast<void>(asker.look(kStart + seconds{1}, {.block = 0, .chunk = 0}));
        const std::uint64_t after = asker.puller.rate_bytes_per_s();
        CHECK((after > before) == (given == 15));
        CHECK(after >= before);
    }
}

TEST_CASE("a member with a full window looks when answers can be here") {
    Asker asker{4, 1000, 1'000'000'000};
    asker.open->block = block(2);
    Instant now = kStart;
    while (!asker.look(now, kAllOfIt).empty()) {  // No answer arrives.
        now += milliseconds{1};
    }
    REQUIRE(now < kStart + milliseconds{20});  // No time-out is over.
    // The 32 chunks of one request take 48 us at the whole rate, ten times that at a tenth.
    CHECK((*asker.puller.deadline() - now).count() >= 40'000);
    CHECK((*asker.puller.deadline() - now).count() <= 600'000);
}

TEST_CASE("the first block, without which nothing can be stored, is asked of three at once") {
    Asker asker{20, 1};
    asker.open->have.add(0);
    asker.map.open(block(0))->chunks = 1;
    const auto requests = asker.look(kStart, {.block = 1, .chunk = 0});
    REQUIRE(requests.size() == 3);
    std::set<unsigned> peers;
    for (const auto& [peer, request] : requests) {
        CHECK(chunks_of(request) == std::set<std::uint32_t>{0});
        peers.insert(peer.value());
    }
    CHECK(peers.size() == 3);
}

TEST_CASE("the endgame begins with the answer that leaves little missing, not with a look") {
    Asker asker{20};
    asker.map.close(block(1));
    asker.map.hold(asker.map.open(block(0))->block);
    for (const unsigned other : {2U, 3U}) {
        asker.map.hold(asker.map.open(block(other))->block);
    }
    asker.open = asker.map.open(block(1));
    asker.open->chunks = kChunksOfBlock;
    asker.puller.on_end(kStart);
    std::vector<std::pair<Rank, wire::Request>> requests;
    Instant now = kStart;
    for (int i = 0; i < 10 && requests.size() < 3; ++i, now += milliseconds{1}) {
        std::ranges::move(asker.look(now, kAllOfIt), std::back_inserter(requests));
    }
    REQUIRE(requests.size() == 3);  // 16, 16 and 8: more is missing than an endgame has
    for (const std::uint32_t chunk : chunks_of(requests[2].second)) {
        asker.give(now, requests[2].first, chunk);
    }
    CHECK_FALSE(asker.look(now, kAllOfIt).empty());  // of others, what was asked of one
}

TEST_CASE("a fast stream's losses are asked for as often as a block takes, not later") {
    for (const std::uint64_t rate :
         {std::uint64_t{12'500'000'000}, std::uint64_t{100'000'000}}) {
        Asker asker{4, kChunksOfBlock, rate};
        CHECK(asker.look(kStart, {.block = 1, .chunk = 4}).size() == 1);
        const bool is_fast = rate > 1'000'000'000;
        const Instant later = kStart + microseconds{90};
        CHECK(asker.look(later, {.block = 1, .chunk = 8}).empty() != is_fast);
    }
}

namespace {

/// Asks for the eight chunks that it lacks after the end, and got half of them in 100 us.
void end_with_half(Asker& asker) {
    for (const unsigned other : {0U, 2U, 3U}) {
        asker.map.hold(asker.map.open(block(other))->block);
    }
    asker.puller.on_end(kStart);
    const auto requests = asker.look(kStart, kAllOfIt);
    REQUIRE(requests.size() == 3);
    for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
        asker.give(kStart + microseconds{100}, requests[0].first, chunk);
    }
}

}  // namespace

TEST_CASE("once half of the last chunks came others are asked for the rest, if that is cheap") {
    for (const std::uint64_t rate : {std::uint64_t{12'500'000'000}, std::uint64_t{1'000'000}}) {
        Asker asker{20, 8, rate};
        end_with_half(asker);
        const auto anew = asker.look(kStart + microseconds{100}, kAllOfIt);
        CHECK(anew.size() == (rate > 1'000'000'000 ? 3 : 0));
        for (const auto& [peer, request] : anew) {
            CHECK(chunks_of(request) == std::set<std::uint32_t>{4, 5, 6, 7});
        }
    }
}

// A replaced request was taken for one in flight, so the chunks were not requested again.
TEST_CASE("what was requested twice and never arrived is requested again") {
    Asker asker{20, 8, 12'500'000'000};
    end_with_half(asker);
    REQUIRE(asker.look(kStart + microseconds{100}, kAllOfIt).size() == 3);
    CHECK(asker.look(kStart + seconds{1}, kAllOfIt).size() == 3);
}
