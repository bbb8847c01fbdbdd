// Compares the papers' algorithms with stagecast's. `make sim-baselines` prints and writes the
// table.
//
// Time from the first chunk until the last member holds the object, divided by the time that
// its packets take on one link, in the same simulated network, from the same seed.
#include "tests/sim/baselines/baselines.h"

#include "tests/sim/world/environment.h"
#include "tests/sim/world/world.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <string_view>

namespace stage::sim {
namespace {

struct Algorithm {
    const char* name;
    MakeBaseline make;  ///< Null: ours.
    std::uint32_t block_chunks = 0;
};

constexpr Algorithm kOurs{"stagecast", nullptr};
constexpr Algorithm kFec{"block FEC (255)", make_block_fec, kFecSymbols};
constexpr Algorithm kRing{"Hoefler: multicast, then a chain", make_ring};
constexpr Algorithm kBitmap{"WAMP: blast, bitmaps", make_bitmap};
constexpr Algorithm kRepeat{"selective repeat by the source", make_repeat};
constexpr Algorithm kPipeline{"binomial pipeline (unicast)", make_pipeline, kPipelineChunks};
constexpr Algorithm kGoBack{"Brim, Sommers: go-back-N, acker", make_go_back};
constexpr Algorithm kAll[] = {kOurs, kFec, kRing, kBitmap, kRepeat, kPipeline, kGoBack};

struct Cell {
    std::uint16_t members = 0;
    std::uint32_t loss_ppm = 0;
    bool is_bursty = false;  ///< That mean, 50 packets at a time.
};

struct Row {
    double time = 0;
    double source = 0;  ///< What the source sent, in objects.
    std::uint64_t heard = 0;
};

Plan plan_of(const Algorithm& algorithm, const Cell& cell, std::uint64_t bytes) {
    Plan plan = calm_plan(cell.members, bytes);
    if (algorithm.block_chunks > 0) {
        plan.block_bytes.clear();
        for (std::uint64_t left = bytes; left > 0;) {
            const std::uint64_t block = std::min<std::uint64_t>(
                left, std::uint64_t{algorithm.block_chunks} * plan.chunk_bytes);
            plan.block_bytes.push_back(static_cast<std::uint32_t>(block));
            left -= block;
        }
    }
    plan.seed = 23;
    plan.propagation = microseconds{12};
    plan.manifest_blocks = 0;
    if (algorithm.make != nullptr) {
        plan.resident_blocks = static_cast<std::uint32_t>(2 * plan.block_bytes.size() + 2);
    }
    plan.loss.independent_ppm = cell.is_bursty ? 0 : cell.loss_ppm;
    plan.loss.burst_ppm = cell.is_bursty ? cell.loss_ppm / plan.loss.burst_packets : 0;
    plan.heals_at = std::chrono::hours{1};
    plan.events_max = ~std::uint64_t{0};
    return plan;
}

Row measure(const Algorithm& algorithm, const Cell& cell, std::uint64_t bytes) {
    const Plan plan = plan_of(algorithm, cell, bytes);
    World world{plan, [&](std::uint16_t rank, const Host::MakeCore& make) {
                    return algorithm.make != nullptr ? algorithm.make(plan, rank) : make();
                }};
    world.run();
    for (const std::string& complaint : world.complaints()) {
        UNSCOPED_INFO(complaint);
    }
    CAPTURE(algorithm.name, cell.members, cell.loss_ppm);
    CHECK(world.complaints().empty());
    CHECK(world.all_released());
    Row row;
    row.time = world.times_wire();
    row.source = static_cast<double>(world.host(plan.source).data_sent()) /
                 static_cast<double>(plan.chunks());
    for (const std::uint64_t count : world.host(plan.source).heard()) {
        row.heard += count;
    }
    return row;
}

TEST_CASE("each baseline brings every byte, and ours is the fastest of them") {
    constexpr std::uint64_t kBytes = 4U << 20U;
    constexpr Cell kCell{.members = 32, .loss_ppm = 10'000};
    const double ours = measure(kOurs, kCell, kBytes).time;
    const double fec = measure(kFec, kCell, kBytes).time;
    const double repeat = measure(kRepeat, kCell, kBytes).time;
    const double go_back = measure(kGoBack, kCell, kBytes).time;
    CAPTURE(ours, fec, repeat, go_back);
    CHECK(ours < 1.2);
    CHECK(ours < fec + 0.05);
    CHECK(ours * 1.1 < repeat);
    CHECK(repeat * 1.1 < go_back);
    for (const Algorithm& other : {kRing, kBitmap, kPipeline}) {
        CAPTURE(other.name);
        CHECK(measure(other, kCell, kBytes).time > ours * 1.02);
    }
}

std::string percent(const Cell& cell) {
    return std::to_string(cell.loss_ppm / 10'000) + " %" + (cell.is_bursty ? " in bursts" : "");
}

constexpr const char* kNotes =
    "\nThe pipeline's corners are not in step: two neighbours that send to one port at once "
    "overflow it, and repairs\ndisturb the next steps, so its first column is worse than what "
    "RDMA's flow control would make of the schedule\n(k + log2 N - 1 steps). Hoefler's chain "
    "repairs a whole burst in one round:\nwhere it is ahead of ours, in the last column, that "
    "is why.\n";

TEST_CASE("ours beside the papers' algorithms", "[.baselines]") {
    const std::uint64_t bytes = number_of("MiB", 16) << 20U;
    std::vector<Cell> cells;
    for (const auto members : {std::uint16_t{64}, std::uint16_t{256}}) {
        for (const std::uint32_t loss : {0U, 10'000U, 50'000U}) {
            cells.push_back({.members = members, .loss_ppm = loss});
        }
        cells.push_back({.members = members, .loss_ppm = 10'000, .is_bursty = true});
    }
    if (const auto more = static_cast<std::uint16_t>(number_of("MEMBERS", 0)); more > 0) {
        cells = {{.members = more, .loss_ppm = 10'000}};
    }
    const char* only = variable("ALGORITHM");
    const char* path = variable("TABLE");
    std::ofstream page;
    if (path != nullptr) {
        page.open(path);
        page
            << "# Ours beside the papers' algorithms, simulated\n\n"
               "`make sim-baselines` writes this page. Time from the first chunk until the "
               "last "
               "member holds\na "
            << (bytes >> 20U)
            << " MiB object over 1 Gbit/s links with a round trip of 48 us, over the time that "
               "its packets take on one\nlink; in brackets what the source sent, in objects, "
               "and the packets that it heard. All know the link's rate; the\nbaselines also "
               "know "
               "the object beforehand and begin at once (tests/sim/baselines).\n";
    }
    for (std::size_t first = 0; first < cells.size(); first += 4) {
        const std::size_t last = std::min(first + 4, cells.size());
        if (page.is_open()) {
            page << "\n| " << cells[first].members << " members |";
            for (std::size_t i = first; i < last; ++i) {
                page << " " << percent(cells[i]) << " |";
            }
            page << "\n|---|" << [&] {
                std::string rule;
                for (std::size_t i = first; i < last; ++i) {
                    rule += "---|";
                }
                return rule;
            }() << "\n";
        }
        for (const Algorithm& algorithm : kAll) {
            if (only != nullptr && std::string_view{algorithm.name} != only) {
                continue;
            }
            std::printf("%5u %-34s", cells[first].members, algorithm.name);
            if (page.is_open()) {
                page << "| " << algorithm.name << " |";
            }
            for (std::size_t i = first; i < last; ++i) {
                const Row row = measure(algorithm, cells[i], bytes);
                std::printf(" | %s %7.3f (%.2f, %llu)",
                            percent(cells[i]).c_str(),
                            row.time,
                            row.source,
                            static_cast<unsigned long long>(row.heard));
                static_cast<void>(std::fflush(stdout));
                if (page.is_open()) {
                    char text[80];
                    static_cast<void>(
                        std::snprintf(text,
                                      sizeof text,
                                      " %.3f (%.2f, %llu) |",
                                      row.time,
                                      row.source,
                                      static_cast<unsigned long long>(row.heard)));
                    page << text;
                }
            }
            std::printf("\n");
            if (page.is_open()) {
                page << "\n" << std::flush;
            }
        }
    }
    if (page.is_open()) {
        page << kNotes;
    }
}

}  // namespace
}  // namespace stage::sim
