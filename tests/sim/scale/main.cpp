// Measures how near to wire time 16,384 receivers come, one row for each run: `make sim-scale`.
//
// The cores are the real ones, the rate is configured, packets are not sealed, and every packet
// of every member is simulated. T is the time from the first chunk until the slowest receiver
// holds the object, divided by the time that the object's packets take on one link. The row
// fails if T is above its bound, if a receiver's core ever had more than 64 KiB of heap, or if
// an invariant is violated. FEEDBACK=1 runs groups of 256, 2,048 and 16,384 instead, and fails
// if what the source receives grows with them by more than every receiver's rare reports
// (docs/protocol, 9.2).
#include "tests/sim/scale/counted_core.h"
#include "tests/sim/world/environment.h"
#include "tests/sim/world/world.h"
#include "transport/core/base/limits.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <vector>

namespace stage::sim {
namespace {

constexpr std::int64_t kCoreBytesMax = 64 << 10;
/// The most feedback, in percent of what the source of the smallest group heard.
constexpr std::uint64_t kFeedbackPercent = 125;
/// The length of each sign of life (reports_by_time), bytes, at most.
constexpr std::uint64_t kAliveReportBytes = 200;

/// What the source hears.
struct Feedback {
    /// READY: one of each member and offer, before the first chunk.
    std::uint64_t readies = 0;
    std::uint64_t reports = 0;
    std::uint64_t requests = 0;
    std::uint64_t dones = 0;
    std::uint64_t packets = 0;  ///< All types but READY.
    std::uint64_t bytes = 0;    ///< The bytes of all types but READY, as on its link.
};

Feedback feedback_of(const Host& source) {
    using wire::PacketType;
    const auto count = [&](PacketType type) {
        return source.heard()[static_cast<std::size_t>(type)];
    };
    Feedback feedback{.readies = count(PacketType::ready),
                      .reports = count(PacketType::report),
                      .requests = count(PacketType::request),
                      .dones = count(PacketType::done)};
    for (std::size_t type = 0; type < source.heard().size(); ++type) {
        if (type != static_cast<std::size_t>(PacketType::ready)) {
            feedback.packets += source.heard()[type];
            feedback.bytes += source.heard_bytes()[type];
        }
    }
    return feedback;
}

struct Result {
    double slowest = 0;
    double others = 0;  ///< The slowest but the handicapped.
    double median = 0;
    Feedback feedback;
    Duration ran{};  ///< Until the last held the object, from the first offer on.
    std::int64_t core_bytes = 0;
    std::uint64_t source_chunks = 0;
    bool is_sound = false;
};

/// The member at half rate, if any.
std::uint16_t handicapped(const Plan& plan) {
    return static_cast<std::uint16_t>(plan.members / 3);
}

Plan plan_of_row(std::uint16_t members) {
    Plan plan = calm_plan(members, number_of("MiB", 64) << 20U);
    plan.seed = number_of("SEED", 1);
    plan.chunk_bytes = static_cast<std::uint32_t>(number_of("CHUNK", 4096));
    plan.link_bytes_per_s = number_of("MBITS", 10'000) * 125'000;
    plan.configured_bytes_per_s = number_of("CONFIGURED", 1) != 0 ? plan.link_bytes_per_s : 0;
    plan.remembered_bytes_per_s = plan.link_bytes_per_s / 100 * number_of("REMEMBERED", 0);
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
    result.ran = world.held_after();
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
    result.feedback = feedback_of(world.host(plan.source));
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
        static_cast<unsigned long long>(result.feedback.packets),
        static_cast<unsigned long long>(result.feedback.reports),
        static_cast<long long>(result.core_bytes),
        cpu,
        is_good ? "ok" : "NOT OK");
    return is_good;
}

/// What is reported because time passes (the fence of a large group takes longer): by each
/// representative often, and by every receiver rarely.
std::uint64_t reports_by_time(const Plan& plan, Duration ran) {
    const core::FeedbackLimits limits;
    return static_cast<std::uint64_t>(limits.representatives * ran / limits.interval +
                                      plan.members * limits.stall_fraction * ran /
                                          plan.stall_timeout);
}

/// Sends one object over equal links to ever larger groups.
bool show_feedback() {
    std::optional<Feedback> smallest;
    bool is_good = true;
    for (const std::uint16_t members :
         {std::uint16_t{257}, std::uint16_t{2049}, std::uint16_t{16385}}) {
        const Plan plan = plan_of_row(members);
        const Result result = run(plan);
        const Feedback& heard = result.feedback;
        smallest = smallest ? smallest : heard;
        const std::uint64_t alive = reports_by_time(plan, result.ran);
        const bool is_flat =
            heard.packets <= smallest->packets * kFeedbackPercent / 100 + alive &&
            heard.bytes <= smallest->bytes * kFeedbackPercent / 100 + alive * kAliveReportBytes;
        is_good = is_good && is_flat && result.is_sound;
        std::printf(
            "%6u receivers, %3.0f ms, T %.3f | source heard %llu packets, %llu bytes: %llu "
            "REPORT, %llu REQUEST, %llu DONE; before them %llu READY | %s\n",
            members - 1U,
            static_cast<double>(result.ran.count()) / 1e6,
            result.slowest,
            static_cast<unsigned long long>(heard.packets),
            static_cast<unsigned long long>(heard.bytes),
            static_cast<unsigned long long>(heard.reports),
            static_cast<unsigned long long>(heard.requests),
            static_cast<unsigned long long>(heard.dones),
            static_cast<unsigned long long>(heard.readies),
            is_flat && result.is_sound ? "ok" : "NOT OK");
        static_cast<void>(std::fflush(stdout));
    }
    return is_good;
}

}  // namespace
}  // namespace stage::sim

int main() {
    if (stage::sim::number_of("FEEDBACK", 0) != 0) {
        return stage::sim::show_feedback() ? 0 : 1;
    }
    const auto members = static_cast<std::uint16_t>(stage::sim::number_of("MEMBERS", 16385));
    const stage::sim::Plan plan = stage::sim::plan_of_row(members);
    return stage::sim::show(plan, stage::sim::run(plan)) ? 0 : 1;
}
