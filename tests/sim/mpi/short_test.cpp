// Short broadcasts of the library beside the binomial tree of the MPIs, by simulated ranks.
// `make sim-baselines` prints and writes the tables.
//
// The time of a call is that until the last rank returns, where all have begun together.
#include "tests/sim/baselines/binomial.h"
#include "tests/sim/mpi/mpi.h"
#include "tests/sim/mpi/mpi_world.h"
#include "tests/sim/mpi/short_broadcast.h"
#include "tests/sim/world/environment.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>

namespace stage::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// 1 Gbit/s, TCP, and Linux's least time-outs. A packet alone costs its sender what a message
/// costs.
constexpr MpiCosts kEthernet{.send = microseconds{5},
                             .receive = microseconds{5},
                             .multicast = microseconds{4},
                             .packet_out = microseconds{1},
                             .packet_in = microseconds{3},
                             .bytes_per_s = 125'000'000,
                             .propagation = microseconds{12},
                             .loss_ppm = 0,
                             .timeout = milliseconds{200},
                             .probe = milliseconds{8}};
/// 100 Gbit/s; the MPI by RDMA, multicast through the kernel.
constexpr MpiCosts kRdma{.send = nanoseconds{300},
                         .receive = nanoseconds{300},
                         .multicast = microseconds{4},
                         .packet_out = microseconds{1},
                         .packet_in = microseconds{3},
                         .bytes_per_s = 12'500'000'000,
                         .propagation = nanoseconds{300},
                         .loss_ppm = 0,
                         .timeout = {},
                         .probe = {}};
/// That network, and multicast by RDMA, too: a packet costs twice what a message does.
constexpr MpiCosts kVerbs{.send = nanoseconds{300},
                          .receive = nanoseconds{300},
                          .multicast = {},
                          .packet_out = nanoseconds{600},
                          .packet_in = nanoseconds{600},
                          .bytes_per_s = 12'500'000'000,
                          .propagation = nanoseconds{300},
                          .loss_ppm = 0,
                          .timeout = {},
                          .probe = {}};
constexpr Duration kLate = milliseconds{5};

enum class Way { library, tree };

struct Case {
    int ranks = 2;
    std::size_t bytes = 2;
    MpiCosts costs = kEthernet;
    int calls = 1;
    int late = -1;  ///< The rank that comes kLate after the others.
};

std::vector<std::byte> message_of(std::size_t bytes, std::uint64_t call) {
    std::vector<std::byte> message(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        message[i] = static_cast<std::byte>((call + 1) * 37 + i * 11);
    }
    return message;
}

void carry(ShortBroadcast* library, MutableBytes bytes, int source) {
    if (library != nullptr) {
        library->broadcast(bytes, source);
    } else {
        binomial_broadcast(bytes, source);
    }
}

/// The source is another rank in each call, the first one rank 0.
void take_part(Way way, const Case& what, int& wrong) {
    MpiWorld& world = MpiWorld::here();
    auto library = way == Way::library ? std::make_unique<ShortBroadcast>() : nullptr;
    for (int call = 0; call < what.calls; ++call) {
        const int source = call % what.ranks;
        const std::vector<std::byte> sent =
            message_of(what.bytes, static_cast<std::uint64_t>(call));
        std::vector<std::byte> bytes =
            world.rank() == source ? sent : std::vector<std::byte>(what.bytes);
        world.begin_together(source);
        if (world.rank() == what.late) {
            world.pause(kLate);
        }
        carry(library.get(), bytes, source);
        world.end_call();
        wrong += bytes == sent ? 0 : 1;
    }
    if (library) {
        library->close();
    }
}

std::vector<MpiWorld::Call> measure(Way way, const Case& what) {
    constexpr std::uint64_t kSeed = 29;
    MpiWorld world{what.ranks, what.costs, kSeed};
    int wrong = 0;
    CAPTURE(way == Way::library, what.ranks, what.bytes);
    CHECK(world.run([&] { take_part(way, what, wrong); }));
    CHECK(wrong == 0);
    REQUIRE(world.calls().size() == static_cast<std::size_t>(what.calls));
    return world.calls();
}

/// The time of a call with as much behind it as later ones have.
Duration steady(Way way, Case what) {
    what.calls = 40;
    return measure(way, what).back().last();
}

TEST_CASE("a short message takes one hop to any number of nodes", "[short]") {
    for (const std::size_t bytes : {1U, 1024U, 8192U}) {
        for (const int ranks : {2, 3, 4, 16, 20, 64, 256}) {
            CAPTURE(bytes, ranks);
            for (const MpiWorld::Call& call :
                 measure(Way::library, {.ranks = ranks, .bytes = bytes, .calls = 2})) {
                CHECK(call.most_hops() == 1);
                CHECK(call.packets == short_fragments(bytes));
                CHECK(call.messages == static_cast<std::uint64_t>(ranks) - 1);
            }
        }
    }
}

TEST_CASE("the tree takes log2 of the number of nodes", "[short]") {
    for (const unsigned ranks : {2U, 4U, 16U, 64U, 256U}) {
        CAPTURE(ranks);
        const MpiWorld::Call call =
            measure(Way::tree, {.ranks = static_cast<int>(ranks)}).front();
        CHECK(call.most_hops() == std::countr_zero(ranks));
        CHECK(call.messages == ranks - 1);
    }
}

TEST_CASE("on Ethernet from 20 nodes on a short message is there before the tree's",
          "[short]") {
    for (const std::size_t bytes : {2U, 1024U, 8192U}) {
        for (const int ranks : {20, 64, 256}) {
            CAPTURE(bytes, ranks);
            const Case what{.ranks = ranks, .bytes = bytes};
            CHECK(steady(Way::library, what) < steady(Way::tree, what));
        }
    }
}

TEST_CASE("where the MPI does without the kernel its tree is faster", "[short]") {
    for (const std::size_t bytes : {2U, 8192U}) {
        const Case what{.ranks = 32, .bytes = bytes, .costs = kRdma};
        CHECK(steady(Way::tree, what) < steady(Way::library, what));
    }
}

// (At most 1.1 times as long, says Hoefler's paper; one message of the ring more or less at the
// slowest rank is 14 % of a message of 2 bytes here.)
TEST_CASE("where multicast does without the kernel a message takes as long to any number",
          "[short]") {
    for (const std::size_t bytes : {2U, 1024U, 8192U}) {
        const auto takes = [bytes](Way way, int ranks) {
            return steady(way, {.ranks = ranks, .bytes = bytes, .costs = kVerbs});
        };
        CAPTURE(bytes);
        for (const int ranks : {20, 64, 256}) {
            CAPTURE(ranks);
            CHECK(takes(Way::library, ranks) < takes(Way::tree, ranks));
        }
        CHECK(takes(Way::library, 256) * 5 <= takes(Way::library, 4) * 6);
    }
}

// (Hoefler's figure 5: 116 ranks, 2 bytes; at most 14 % from the median, the tree's first 79 %
// before its last.)
TEST_CASE("by RDMA all ranks return within 15 % of the median", "[short]") {
    const auto deviation = [](Way way) {
        std::vector<MpiWorld::Call> calls =
            measure(way, {.ranks = 116, .bytes = 2, .costs = kVerbs, .calls = 40});
        std::vector<Duration> ended = calls.back().ended;
        ended.erase(ended.begin() + static_cast<int>(calls.size() - 1) % 116);  // (The source.)
        std::ranges::sort(ended);
        const Duration median = ended[ended.size() / 2];
        const Duration most = std::max(median - ended.front(), ended.back() - median);
        return static_cast<double>(most.count()) / static_cast<double>(median.count());
    };
    CHECK(deviation(Way::library) <= 0.15);
    CHECK(deviation(Way::tree) > 0.3);
}

TEST_CASE("what multicast loses comes from the node before", "[short]") {
    Case what{.ranks = 24, .bytes = 5000, .calls = 100};
    what.costs.loss_ppm = 100'000;
    int repaired = 0;
    const std::vector<MpiWorld::Call> calls = measure(Way::library, what);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::vector<int>& hops = calls[i].hops;
        for (std::size_t rank = 0; rank < hops.size(); ++rank) {
            const int before = hops[(rank + hops.size() - 1) % hops.size()];
            CAPTURE(i, rank, before);
            if (rank != i % hops.size() && hops[rank] != 1) {
                CHECK(hops[rank] == before + 1);
                ++repaired;
            }
        }
    }
    CHECK(repaired > 100);
}

TEST_CASE("a late rank delays no other one, and in the tree its children", "[short]") {
    const Case what{.ranks = 32, .late = 16};
    for (const Way way : {Way::library, Way::tree}) {
        const MpiWorld::Call call = measure(way, what).front();
        const auto late = std::ranges::count_if(
            call.ended, [](const Duration ended) { return ended >= kLate; });
        CHECK(late == (way == Way::library ? 1 : 16));
    }
}

/// Sources and lengths are drawn alike by all ranks, pauses by each for itself.
void run_ahead(std::uint64_t seed, int& wrong) {
    constexpr int kCalls = 300;
    MpiWorld& world = MpiWorld::here();
    Prng shared{seed};
    Prng own{seed * 1000 + static_cast<std::uint64_t>(world.rank())};
    ShortBroadcast library;
    for (std::uint64_t call = 0; call < kCalls; ++call) {
        const bool has_turns = shared.chance_ppm(500'000);
        const auto source = static_cast<int>(
            has_turns ? shared.below(static_cast<std::uint64_t>(world.size())) : 0);
        const std::size_t bytes =
            1 + shared.below(shared.chance_ppm(500'000) ? 64 : kShortBytes);
        const std::vector<std::byte> sent = message_of(bytes, call);
        std::vector<std::byte> got =
            world.rank() == source ? sent : std::vector<std::byte>(bytes);
        if (own.chance_ppm(20'000)) {
            world.pause(Duration{static_cast<Duration::rep>(own.below(20'000'000))});
        }
        library.broadcast(got, source);
        wrong += got == sent ? 0 : 1;
    }
    library.close();
}

TEST_CASE("short messages without a barrier, while ranks come late: all are right", "[short]") {
    const std::uint64_t first = number_of("SEED", 1);
    for (std::uint64_t seed = first; seed < first + 10; ++seed) {
        CAPTURE(seed);
        MpiCosts costs = kEthernet;
        costs.loss_ppm = seed % 2 == 0 ? 50'000 : 0;
        const int ranks = static_cast<int>(2 + seed % 7);
        MpiWorld world{ranks, costs, seed};
        int wrong = 0;
        CHECK(world.run([&] { run_ahead(seed, wrong); }));
        CHECK(wrong == 0);
    }
}

struct Answers {
    std::vector<int> errors;
    std::vector<std::vector<std::byte>> got;
};

/// Calls in which rank r names lengths[r] bytes, and then one in which all name as many.
void name_lengths(const std::vector<std::size_t>& lengths, int source, Answers& answers) {
    constexpr int kCalls = 40;  // (More than a leader may be ahead.)
    const auto rank = static_cast<std::size_t>(MpiWorld::here().rank());
    ShortBroadcast library;
    for (int call = 0; call < kCalls; ++call) {
        const std::size_t length = call + 1 < kCalls ? lengths[rank] : 100;
        std::vector<std::byte> bytes(length);
        if (static_cast<int>(rank) == source) {
            bytes = message_of(length, 1);
        }
        const int error = library.try_broadcast(bytes, source);
        if (call == 0) {
            answers.errors[rank] = error;
            answers.got[rank] = bytes;
        }
        if (call + 1 == kCalls && (error != 0 || bytes != message_of(length, 1))) {
            answers.errors[rank] = -1;
        }
    }
    library.close();
}

TEST_CASE("ranks that name other lengths than the source: an error at each, and all go on",
          "[short]") {
    using Lengths = std::vector<std::size_t>;
    const Lengths lengths =
        GENERATE(Lengths{10, 40, 10, 10, 10},  // one of them
                 Lengths{4, 40, 40, 40, 40},   // all but the source
                 Lengths{40, 4, 4, 4, 4},
                 Lengths{8192, 1, 8192, 7, 8192},
                 Lengths{0, 40, 40, 8192, 1});  // (The source has no message.)
    const int source = GENERATE(0, 2);
    Lengths turned = lengths;
    std::ranges::rotate(turned, turned.end() - source);
    const std::size_t sent = lengths.front();
    MpiWorld world{5, kEthernet, 29};
    Answers answers{.errors = std::vector<int>(5), .got = {5, std::vector<std::byte>{}}};
    CHECK(world.run([&] { name_lengths(turned, source, answers); }));
    for (std::size_t rank = 0; rank < turned.size(); ++rank) {
        CAPTURE(sent, source, rank, turned[rank]);
        const bool is_right = turned[rank] == sent;
        CHECK(answers.errors[rank] == (is_right ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
        CHECK((!is_right || answers.got[rank] == message_of(sent, 1)));
    }
}

// ---- the page

constexpr std::size_t kSizes[] = {2, 1024, 8192};
constexpr int kRanks[] = {2, 3, 4, 8, 16, 20, 32, 64, 128, 256};

std::string microseconds_of(Duration time) {
    char text[40];
    static_cast<void>(
        std::snprintf(text, sizeof text, "%.1f", static_cast<double>(time.count()) / 1e3));
    return text;
}

struct Times {
    Duration median;
    Duration mean;
};

Times times_of(Way way, const Case& what) {
    std::vector<Duration> times;
    for (const MpiWorld::Call& call : measure(way, what)) {
        times.push_back(call.last());
    }
    const Duration sum = std::accumulate(times.begin(), times.end(), Duration{});
    std::ranges::sort(times);
    return {.median = times[times.size() / 2],
            .mean = sum / static_cast<Duration::rep>(times.size())};
}

void write_table(std::ostream& page, const std::string& title, const MpiCosts& costs) {
    page << "\n## " << title << "\n\n| nodes |";
    for (const std::size_t bytes : kSizes) {
        page << " " << bytes << " bytes: library | tree |";
    }
    page << "\n|---|---|---|---|---|---|---|\n";
    for (const int ranks : kRanks) {
        page << "| " << ranks << " |";
        for (const std::size_t bytes : kSizes) {
            for (const Way way : {Way::library, Way::tree}) {
                const Case what{.ranks = ranks, .bytes = bytes, .costs = costs, .calls = 200};
                if (costs.loss_ppm == 0) {
                    page << " " << microseconds_of(steady(way, what)) << " |";
                } else {
                    const Times times = times_of(way, what);
                    page << " " << microseconds_of(times.median) << " ("
                         << microseconds_of(times.mean) << ") |";
                }
            }
        }
        page << "\n" << std::flush;
        std::printf("%s: %d nodes\n", title.c_str(), ranks);
    }
}

constexpr const char* kHead =
    "# Short broadcasts beside a tree, simulated\n\n"
    "`make sim-baselines` writes this page. Microseconds from the moment at which all nodes "
    "call until the last one\nreturns, in the fortieth call; the library's own ring "
    "and window (tests/sim/mpi) beside a binomial\ntree over the same messages from node to "
    "node. What is assumed, of no measured cluster: a message costs sender\nand receiver 5 us "
    "each, by RDMA 0.3; the packets of a multicast 4 us and 1 us each, and a receiver 3 us "
    "each;\nlinks of 1 Gbit/s that take 12 us, two on the way, by RDMA of 100 Gbit/s and 0.3 "
    "us. The packets of a multicast by RDMA's datagrams "
    "are taken to cost 0.6 us at\neach end. TCP repeats a lost segment after 200 ms if it was "
    "alone, after 8 ms if it was the "
    "last of several, and after a round trip otherwise.\n";
constexpr const char* kTail =
    "\nMulticast takes one hop, the tree up to *log2* of the number of nodes. Each node "
    "also pays for the message\nthat comes by the ring, and for passing it on: the library "
    "loses where few nodes have few hops to save, and\nwhere a message of the MPI costs much "
    "less than a packet through the kernel. What multicast loses comes from\nthe node before, "
    "so that one loss is one hop more. A node of the tree has nothing but the message, and "
    "waits until\nTCP repeats it.\n";

TEST_CASE("short broadcasts beside a tree", "[.short-baselines]") {
    const char* const path = variable("TABLE");
    std::ofstream page{path != nullptr ? path : "/dev/stdout"};
    MpiCosts lossy = kEthernet;
    lossy.loss_ppm = 10'000;
    page << kHead;
    write_table(page, "Ethernet", kEthernet);
    write_table(page, "Ethernet, 1 % lost: medians (and means) of 200 calls", lossy);
    write_table(page, "RDMA, multicast through the kernel", kRdma);
    write_table(page, "RDMA, multicast by its datagrams", kVerbs);
    page << kTail;
}

}  // namespace
}  // namespace stage::sim
