// Tests how much a member outside the group requests beside other flows.
#include "tests/unit/core/parts.h"
#include "transport/core/repair/puller.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr std::uint32_t kWindowChunks = 2000;
constexpr Position kAllInWindow{.block = 4, .chunk = 0};
constexpr Duration kTrip = milliseconds{10};
constexpr std::uint64_t kFast = 1'000'000'000;

CoreConfig untold(unsigned members) {
    CoreConfig config = config_of(1, members);
    config.rate_bytes_per_s = 0;
    return config;
}

std::vector<std::uint32_t> chunks_of(const Send& send) {
    REQUIRE(send.type == wire::PacketType::request);
    const auto request = *wire::read_request(send.body);
    std::vector<std::uint32_t> chunks;
    for (const wire::ChunkRun& run : request.runs) {
        for (std::uint32_t i = 0; i < run.count; ++i) {
            chunks.push_back(run.first + i);
        }
    }
    return chunks;
}

/// A member that never has enough, and peers that answer after a round trip.
class Fetcher {
  public:
    explicit Fetcher(unsigned members = 32)
        : puller{untold(members), {}, prng}, map{4, kWindowChunks, 8} {
        open = map.open(block(1));
        open->chunks = kWindowChunks;
    }

    /// A step of a millisecond: what was answered arrives, and more is asked for. True for each
    /// request that `loses` lets be lost.
    template <typename Loses>
    void step(Loses&& loses) {
        now += milliseconds{1};
        while (!answers.empty() && answers.front().at <= now) {
            const Answer answer = answers.front();
            answers.pop_front();
            for (const std::uint32_t chunk : answer.chunks) {
                puller.on_arrival(now, answer.from, *open, chunk);
                --under_way;
                ++came;  // it is not kept: there is always something to ask for
            }
        }
        ControlQueue out{1000};
        puller.poll(now, kAllInWindow, map, out);
        for (const Send& send : drained(out)) {
            if (!loses()) {
                answers.push_back({now + kTrip, send.to.peer, chunks_of(send)});
                under_way += static_cast<std::uint32_t>(answers.back().chunks.size());
            }
        }
        most = std::max(most, under_way);
    }
    void run(Duration time) {
        for (const Instant end = now + time; now < end;) {
            step([] { return false; });
        }
    }
    /// The next request is lost, and noticed.
    void lose() {
        bool has_lost = false;
        for (int i = 0; i < 100; ++i) {
            step([&] { return !std::exchange(has_lost, true); });
        }
    }
    /// Chunks that were under way at most in two round trips from now.
    std::uint32_t window() {
        most = 0;
        run(2 * kTrip);
        return most;
    }

    struct Answer {
        Instant at;
        Rank from;
        std::vector<std::uint32_t> chunks;
    };

    Prng prng{1};
    Puller puller;
    ChunkMap map;
    OpenBlock* open;
    Instant now = kStart;
    std::deque<Answer> answers;
    std::uint32_t under_way = 0;
    std::uint32_t most = 0;
    std::uint64_t came = 0;
};

}  // namespace

TEST_CASE(
    "a member outside the group begins with few chunks in flight, by requests of half of "
    "them") {
    Fetcher fetcher;
    fetcher.puller.set_alone(fetcher.now, kFast);
    fetcher.step([] { return false; });
    REQUIRE(fetcher.answers.size() == 1);
    CHECK(fetcher.under_way == 8);
    fetcher.run(kTrip - milliseconds{2});  // no more before the first answer
    CHECK(fetcher.answers.size() == 2);
    CHECK(fetcher.under_way == 16);
}

TEST_CASE("answers open the window, a lost one closes it to seven tenths") {
    Fetcher fetcher;
    fetcher.puller.set_alone(fetcher.now, kFast);
    fetcher.run(seconds{2});
    const std::uint32_t grown = fetcher.window();
    CHECK(grown > 40);
    fetcher.lose();
    const std::uint32_t left = fetcher.window();
    CHECK(left < grown * 85 / 100);
    CHECK(left > grown * 55 / 100);
    fetcher.run(seconds{4});
    CHECK(fetcher.window() > grown);
}

TEST_CASE("a window that is not full doesn't grow") {
    Fetcher fetcher;
    // Far less than the window would bring.
    fetcher.puller.set_alone(fetcher.now, 200'000);
    fetcher.run(seconds{4});
    fetcher.puller.set_alone(fetcher.now, kFast);
    fetcher.run(10 * kTrip);
    CHECK(fetcher.window() >= 16);
    CHECK(fetcher.window() <= 32);
}

TEST_CASE("what is fetched is no faster than half of the stream was") {
    Fetcher fetcher;
    fetcher.puller.set_alone(fetcher.now, 2'000'000);
    fetcher.run(seconds{1});
    fetcher.came = 0;
    fetcher.run(seconds{2});
    const std::uint64_t bytes = fetcher.came * (1000 + kWireOverheadBytes);
    CHECK(bytes > 2'500'000);
    CHECK(bytes < 4'300'000);
}

TEST_CASE("of losses in one round trip only the first closes the window") {
    Fetcher fetcher;
    fetcher.puller.set_alone(fetcher.now, kFast);
    fetcher.run(seconds{2});
    const std::uint32_t grown = fetcher.window();
    int lost = 0;
    for (int i = 0; i < 100; ++i) {
        fetcher.step([&] { return lost++ < 3; });
    }
    CHECK(lost > 3);
    CHECK(fetcher.window() > grown * 55 / 100);
}

TEST_CASE("during the pass a member outside the group asks many others before the source") {
    for (const bool is_alone : {false, true}) {
        Fetcher fetcher;
        bool asked_source = false;
        if (is_alone) {
            fetcher.puller.set_alone(fetcher.now, kFast);
        }
        // All lack it: after four refusals a member of the group asks the source.
        int refusals = 0;
        while (!asked_source && refusals < 100) {
            ControlQueue out{1000};
            fetcher.now += milliseconds{100};
            fetcher.puller.poll(fetcher.now, {.block = 1, .chunk = 1}, fetcher.map, out);
            for (const Send& send : drained(out)) {
                asked_source = asked_source || send.to.peer == rank(0);
                if (!asked_source) {
                    ++refusals;
                    fetcher.puller.on_lacking(fetcher.now,
                                              send.to.peer,
                                              *wire::read_request(send.body),
                                              false,
                                              fetcher.map);
                }
            }
        }
        CAPTURE(is_alone, refusals);
        CHECK(refusals == (is_alone ? 16 : 4));
    }
}

TEST_CASE("back in the group a member requests as before") {
    Fetcher fetcher;
    fetcher.puller.set_alone(fetcher.now, 200'000);
    fetcher.run(seconds{1});
    fetcher.puller.set_alone(fetcher.now, 0);
    fetcher.puller.on_stream(fetcher.now, {.bytes_per_s = 100'000'000});
    fetcher.run(seconds{1});
    fetcher.came = 0;
    fetcher.run(seconds{1});
    // A tenth of nine tenths of the stream's rate.
    CHECK(fetcher.came > 6'000);
    CHECK(fetcher.came < 9'500);
}

TEST_CASE("beside a stream that stands still a member requests with its whole rate") {
    const bool stands = GENERATE(false, true);
    Fetcher fetcher;
    fetcher.puller.on_stream(fetcher.now, {.bytes_per_s = 10'000'000});
    fetcher.puller.on_stream_packet(stands ? fetcher.now - seconds{1}
                                           : fetcher.now + seconds{1});
    fetcher.run(seconds{1});
    CAPTURE(stands, fetcher.came);
    CHECK((fetcher.came > 5'000) == stands);
    CHECK((fetcher.came < 1'000) != stands);
}
