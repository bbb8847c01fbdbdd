// Tests that a hop delivers every packet once, in spite of its path, and how fast it does.
#include "transport/hop/hop_link.h"

#include "tests/unit/hop/hop_world.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>
#include <tuple>

namespace stage::hop {
namespace {

using namespace std::chrono_literals;
using test::HopWorld;
using test::number_in;
using test::packet_no;

constexpr std::size_t kPacket = 16'412;  ///< A relay's, sealed.

/// Sends `packets` of kPacket from end 0 to end 1, as a relay does: a bounded backlog.
Duration time_of_copy(const test::Path& path, std::uint32_t packets, std::uint64_t seed) {
    HopWorld world{path, seed};
    std::uint32_t pushed = 0;
    world.ends[0].push(packet_no(0, 60), true);
    world.ends[1].push(packet_no(0, 60), true);
    world.on_turn = [&] {
        while (pushed < packets && world.ends[0].backlog_bytes() < (128U << 10U)) {
            world.ends[0].push(packet_no(pushed++, kPacket), false);
        }
    };
    const Instant begun = world.now;
    const bool is_done =
        world.run(120s, [&] { return world.arrived[1].size() == packets + 1; });
    return is_done ? world.now - begun : Duration::max();
}

double wire_time(const test::Path& path, std::uint32_t packets) {
    const double pieces = static_cast<double>(packets) * 14;
    const double bytes = static_cast<double>(packets) * (kPacket + 4) +
                         pieces * (kPieceHeadBytes + test::kWireBytes);
    return bytes / static_cast<double>(path.bytes_per_s);
}

TEST_CASE("packets arrive once, those with an order in it, whatever the path does") {
    const char* const asked = std::getenv("HOP_SEEDS");  // NOLINT: one thread
    const std::uint64_t seeds = asked != nullptr ? std::stoull(asked) : 60;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        Prng prng{seed};
        const test::Path path{
            .bytes_per_s = 50'000 + prng.below(20'000'000),
            .queue_bytes = 3'000 + prng.below(400'000),
            .one_way = Duration{static_cast<Duration::rep>(prng.below(150'000'000))},
            .loss_ppm = static_cast<std::uint32_t>(prng.below(200'000)),
            .reorder_ppm = static_cast<std::uint32_t>(prng.below(200'000)),
            .double_ppm = static_cast<std::uint32_t>(prng.below(100'000))};
        HopWorld world{path, seed};
        std::array<std::uint32_t, 2> ordered{};
        std::array<std::vector<bool>, 2> plain;
        std::array<std::uint32_t, 2> pushed{};
        constexpr std::uint32_t kPackets = 60;
        world.on_turn = [&] {
            for (std::size_t from = 0; from < 2; ++from) {
                while (pushed[from] < kPackets && world.ends[from].backlog_bytes() < 60'000) {
                    const std::uint32_t number = pushed[from]++;
                    world.ends[from].push(packet_no(number, 1 + prng.below(kPacket)),
                                          number % 3 == 0);
                }
            }
        };
        REQUIRE(world.run(600s, [&] {
            return world.arrived[0].size() >= kPackets && world.arrived[1].size() >= kPackets;
        }));
        for (std::size_t end = 0; end < 2; ++end) {
            REQUIRE(world.arrived[end].size() == kPackets);
            plain[end].resize(kPackets);
            for (const auto& message : world.arrived[end]) {
                const Bytes packet = Bytes{message}.subspan(kOrderBytes);
                const std::uint32_t number = number_in(packet);
                REQUIRE(number < kPackets);
                REQUIRE_FALSE(plain[end][number]);
                plain[end][number] = true;
                REQUIRE(std::ranges::equal(packet, packet_no(number, packet.size())));
                if (number % 3 == 0) {
                    CHECK(number >= ordered[end]);
                    ordered[end] = number;
                }
            }
            CHECK(number_in(Bytes{world.arrived[end].front()}.subspan(kOrderBytes)) == 0);
        }
    }
}

TEST_CASE("a long path is filled, and chance losses do not slow it", "[hop]") {
    constexpr std::uint32_t kPackets = 2000;  // 33 MB, 2.8 s at 100 Mbit/s
    for (const auto& [rtt, loss_ppm, wake, most] :
         {std::tuple{Duration{200us}, 0U, Duration{1us}, 1.15},
          {200us, 0U, 2ms, 1.35},
          {200us, 10'000U, 2ms, 1.35},
          {10ms, 0U, 1us, 1.08},
          {50ms, 0U, 1ms, 1.15},
          {150ms, 0U, 1us, 1.5},
          {50ms, 10'000U, 1us, 1.25},
          {50ms, 50'000U, 1us, 1.35},
          {150ms, 50'000U, 2ms, 1.8}}) {
        const auto path_bytes = static_cast<std::uint64_t>(rtt / 1us) * 25 / 2;
        const test::Path path{.queue_bytes = std::max<std::uint64_t>(65'536, path_bytes),
                              .one_way = rtt / 2,
                              .loss_ppm = loss_ppm,
                              .wake = wake};
        const Duration took = time_of_copy(path, kPackets, 7);
        const double share =
            std::chrono::duration<double>(took).count() / wire_time(path, kPackets);
        INFO(rtt / 1us << " us, " << loss_ppm << " ppm: " << share << " of the wire time");
        CHECK(share < most);
    }
}

TEST_CASE("a queue that is short for the path does not make the start lose half of it") {
    HopWorld world{{.bytes_per_s = 125'000'000, .queue_bytes = 300'000}, 1};
    world.ends[0].push(packet_no(0, 60), true);
    std::uint32_t pushed = 0;
    world.on_turn = [&] {
        while (world.ends[0].backlog_bytes() < (128U << 10U)) {
            world.ends[0].push(packet_no(pushed++, kPacket), false);
        }
    };
    CHECK(world.run(20s, [&] { return world.arrived[1].size() >= 6'000; }));
    INFO(world.dropped << " of " << world.sent << " datagrams dropped");
    CHECK(world.dropped * 4 < world.sent);
}

/// An end that sends a packet of `bytes` each 100 ms, and a short one each 20 ms, over a path
/// that carries long datagrams for a second only.
bool is_over_on_narrow_path(std::size_t bytes) {
    HopWorld world{{.datagram_bytes = kLongDatagram}, 1};
    std::uint32_t number = 0;
    Instant next = world.now;
    const Instant narrow_at = world.now + 1s;
    world.on_turn = [&] {
        world.longest = world.now < narrow_at ? kLongDatagram : kShortDatagram;
        for (; next <= world.now; next += 20ms) {
            ++number;
            world.ends[0].push(packet_no(number, number % 5 == 0 ? bytes : 100), false);
        }
    };
    return world.run(4s, [&] { return world.ends[0].is_over(world.now); }) &&
           world.now > narrow_at;
}

TEST_CASE("a hop ends when its path carries long datagrams no more") {
    CHECK(is_over_on_narrow_path(16'384));
    CHECK_FALSE(is_over_on_narrow_path(1'000));
}

TEST_CASE("an end that hears nothing any more says so") {
    HopWorld world{{.loss_ppm = 1'000'000}, 1};
    world.ends[0].push(packet_no(0, 100), true);
    CHECK_FALSE(world.ends[0].is_over(world.now));
    CHECK_FALSE(world.run(2s, [&] { return world.ends[0].is_over(world.now); }) == false);
    CHECK(world.arrived[1].empty());
}

}  // namespace
}  // namespace stage::hop
