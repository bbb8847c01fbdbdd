// Tests of which peer a member requests which chunks where all members fetch the object.
#include "tests/unit/core/parts.h"
#include "transport/core/repair/puller.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <vector>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

constexpr std::uint32_t kChunks = 160;  // Ten shares.
constexpr unsigned kSwarm = 6;          // Two for each receiver.
constexpr Position kAll{.block = 4, .chunk = 0};

struct Sent {
    Rank to;
    wire::Request request;
};

/// A receiver that the group does not reach, after the end, with one block to fetch.
class Swimmer {
  public:
    explicit Swimmer(unsigned own)
        : puller{config_of(own, kSwarm), {}, prng}, map{4, kChunks, 8} {
        open = map.open(block(1));
        open->chunks = kChunks;
        puller.set_swarm(true);
        puller.set_alone(kStart, 1'000'000'000);
        puller.on_end(kStart);
    }

    std::vector<Sent> poll(Instant now) {
        ControlQueue out{1000};
        puller.poll(now, kAll, map, out);
        std::vector<Sent> sent;
        for (const Send& send : drained(out)) {
            sent.push_back({send.to.peer, *wire::read_request(send.body)});
        }
        return sent;
    }
    /// No member has anything yet.
    void refuse(Instant now, const Sent& sent) {
        puller.on_lacking(now, sent.to, sent.request, false, map);
    }
    void give(Instant now, const Sent& sent) {
        for (const wire::ChunkRun& run : sent.request.runs) {
            for (std::uint32_t i = 0; i < run.count; ++i) {
                open->have.add(run.first + i);
                puller.on_arrival(now, sent.to, *open, run.first + i);
            }
        }
    }

    Prng prng{1};
    Puller puller;
    ChunkMap map;
    OpenBlock* open = nullptr;
};

}  // namespace

TEST_CASE("where all fetch all the source is asked for each chunk once") {
    std::map<std::uint32_t, int> asked;  // Of the source, by chunk.
    for (unsigned own = 1; own < kSwarm; ++own) {
        Swimmer swimmer{own};
        std::set<std::uint32_t> owners;
        Instant now = kStart;
        for (int i = 0; i < 400 && swimmer.open->have.count() < kChunks; ++i) {
            now += milliseconds{1};
            for (const Sent& sent : swimmer.poll(now)) {
                const wire::ChunkRun& run = sent.request.runs.at(0);
                CHECK(run.first / 16 == (run.first + run.count - 1U) / 16);  // Of one share.
                const bool is_source = sent.to == rank(0);
                for (std::uint32_t j = 0; is_source && j < run.count; ++j) {
                    ++asked[run.first + j];
                }
                if (!is_source && i == 0) {
                    swimmer.refuse(now, sent);
                    continue;
                }
                owners.insert(sent.to.value());
                swimmer.give(now, sent);
            }
        }
        CHECK(swimmer.open->have.count() == kChunks);
        CHECK(owners.size() == kSwarm - 1);  // The source, and each of the others.
    }
    // Where the first peer had it all, a member's second share needs no source; so a half.
    CHECK(asked.size() >= kChunks / 2 - 32);
    for (const auto& [chunk, times] : asked) {
        CAPTURE(chunk);
        CHECK(times == 1);
    }
}

TEST_CASE("of its own share a member has little with the source at a time") {
    Swimmer swimmer{2};
    Instant now = kStart;
    std::size_t at_source = 0;
    for (int i = 0; i < 12; ++i) {  // Sooner than what isn't answered is late.
        now += microseconds{20};
        for (const Sent& sent : swimmer.poll(now)) {
            if (sent.to == rank(0)) {
                ++at_source;
            } else {
                swimmer.refuse(now, sent);
            }
        }
    }
    CHECK(at_source >= 1);
    CHECK(at_source <= Limits{}.repair.share_requests);
}

TEST_CASE("a member that the group reaches again asks as others do") {
    Swimmer swimmer{2};
    swimmer.puller.set_swarm(false);
    CHECK_FALSE(swimmer.puller.is_swarm());
    swimmer.puller.set_alone(kStart, 0);
    const auto sent = swimmer.poll(kStart + milliseconds{1});
    REQUIRE_FALSE(sent.empty());
    CHECK(sent[0].request.runs.at(0).first == 0);
}
