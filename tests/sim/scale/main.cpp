// How near to wire time do sixteen thousand receivers come?  One row a run: `make sim-scale`.
//
// The cores are the real ones, the rate is told, the seal is left out, and every packet of
// every member is simulated. T is the time from the first chunk until the slowest receiver
// holds the object, in times that the object's packets take on one link. The row fails if T is
// above its bound, if a receiver's core ever had more than 64 KiB of heap, or if any truth is
// hurt.
#include "tests/sim/environment.h"
#include "tests/sim/scale/counted_core.h"
#include "tests/sim/world.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

namespace stage::sim {
namespace {

constexpr std::int64_t kCoreBytesMax = 64 << 10;

struct Result {
    double slowest = 0;
    double others = 0;  ///< The slowest but the handicapped.
    double median = 0;
    std::uint64_t heard = 0;  ///< Packets at the source.
    std::uint64_t reports = 0;
    std::int64_t core_bytes = 0;
    std::uint64_t source_chunks = 0;
    bool is_sound = false;
};

/// The member at half rate, if any.
std::uint16_t handicapped(const Plan& plan) {
    return static_cast<std::uint16_t>(plan.members / 3);
}

Plan plan_of_row() {
    const auto members = static_cast<std::uint16_t>(number_of("MEMBERS", 16385));
    Plan plan = calm_plan(members, number_of("MiB", 64) << 20U);
    plan.seed = number_of("SEED", 1);
    plan.chunk_bytes = static_cast<std::uint16_t>(number_of("CHUNK", 4096));
    plan.link_bytes_per_s = number_of("MBITS", 10'000) * 125'000;
    plan.told_bytes_per_s = plan.link_bytes_per_s;
    plan.loss.independent_ppm = static_cast<std::uint32_t>(number_of("LOSS", 0));
    plan.loss.shared_ppm = static_cast<std::uint32_t>(number_of("SHARED", 0));
    plan.heals_at = std::chrono::hours{1};
    plan.wake_latency = microseconds{static_cast<std::int64_t>(number_of("WAKE_US", 5))};
    plan.port_buffer_bytes = static_cast<std::uint32_t>(number_of("PORT_KIB", 1024) << 10U);
    plan.socket_buffer_bytes = 16U << 20U;
    plan.disk_bytes_per_s = 64'000'000'000;
    plan.disk_latency = microseconds{5};
    plan.resident_blocks = static_cast<std::uint32_t>(number_of("RESIDENT", 64));
    plan.stall_timeout = seconds{30};
    plan.linger = seconds{30};
    plan.ready_timeout = seconds{10};
    plan.is_seal_played = false;
    plan.packets_per_turn = 256;
    plan.events_max = ~std::uint64_t{0};
    if (number_of("HALF", 0) != 0) {
        plan.member[handicapped(plan)].downlink_bytes_per_s = plan.link_bytes_per_s / 2;
    }
    return plan;
}

Result run(const Plan& plan) {
    World world{plan, [](std::uint16_t rank, const auto& make) {
                    return std::make_unique<CountedCore>(rank + 1U, make);
                }};
    world.run();
    for (const std::string& complaint : world.complaints()) {
        std::printf("%s\n", complaint.c_str());
    }
    Result result;
    result.is_sound = world.complaints().empty() && world.all_released();
    result.slowest = world.times_wire();
    std::vector<double> times;
    for (std::uint16_t rank = 0; rank < plan.members; ++rank) {
        if (rank == plan.source) {
            continue;
        }
        times.push_back(world.times_wire(rank));
        if (rank != handicapped(plan)) {
            result.others = std::max(result.others, times.back());
        }
        result.core_bytes = std::max(result.core_bytes, heap_use(rank + 1U).most);
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    result.median = *middle;
    for (const std::uint64_t count : world.host(plan.source).heard()) {
        result.heard += count;
    }
    result.reports =
        world.host(plan.source).heard()[static_cast<std::size_t>(wire::PacketType::report)];
    result.source_chunks = world.host(plan.source).data_sent();
    return result;
}

bool show(const Plan& plan, const Result& result) {
    const double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    const double bound = static_cast<double>(number_of("BOUND_PERMILLE", 99'000)) / 1e3;
    const bool is_half = plan.member[handicapped(plan)].downlink_bytes_per_s > 0;
    const double judged = is_half ? result.others : result.slowest;
    const bool is_good =
        result.is_sound && judged <= bound && result.core_bytes <= kCoreBytesMax;
    std::printf(
        "%6u %6llu MB %4llu Gbit/s %4.1f %% %s| T %.3f others %.3f median %.3f | source "
        "sent %.3f, heard %llu (%llu reports) | core %lld bytes | %.0f s of CPU | %s\n",
        plan.members - 1U,
        static_cast<unsigned long long>(plan.object_bytes() >> 20U),
        static_cast<unsigned long long>(plan.link_bytes_per_s / 125'000'000),
        plan.loss.independent_ppm / 1e4,
        is_half ? "one at half " : "",
        result.slowest,
        result.others,
        result.median,
        static_cast<double>(result.source_chunks) / static_cast<double>(plan.chunks()),
        static_cast<unsigned long long>(result.heard),
        static_cast<unsigned long long>(result.reports),
        static_cast<long long>(result.core_bytes),
        cpu,
        is_good ? "ok" : "NOT OK");
    return is_good;
}

}  // namespace
}  // namespace stage::sim

int main() {
    const stage::sim::Plan plan = stage::sim::plan_of_row();
    return stage::sim::show(plan, stage::sim::run(plan)) ? 0 : 1;
}
