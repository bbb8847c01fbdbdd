// Tests at which rate repairs may arrive.
#include "transport/core/repair/repair_rate.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

RepairRate rate_of(std::uint64_t configured) {
    CoreConfig config = config_of(1, 4);
    config.rate_bytes_per_s = configured;
    return RepairRate{config, Limits{}};
}

RepairRequest answered() {
    RepairRequest request;
    request.sent_at = kStart;
    request.given = 16;
    return request;
}

}  // namespace

TEST_CASE("a configured rate is neither searched nor followed") {
    RepairRate rate = rate_of(100'000'000);
    rate.on_stream(kStart, {.bytes_per_s = 1'000'000});
    rate.on_request_end(kStart, answered());
    CHECK(rate.bytes_per_s() == 100'000'000);
}

TEST_CASE("repairs have a share beside the stream, and all when it ends or stands still") {
    RepairRate rate = rate_of(100'000'000);
    rate.on_stream_packet(kStart);
    CHECK(rate.part_bytes_per_s(kStart + milliseconds{49}) == 10'000'000);
    CHECK(rate.part_bytes_per_s(kStart + milliseconds{50}) == 100'000'000);
    rate.on_stream_packet(kStart + milliseconds{60});
    CHECK(rate.part_bytes_per_s(kStart + milliseconds{61}) == 10'000'000);
    rate.on_end();
    CHECK(rate.part_bytes_per_s(kStart + milliseconds{61}) == 100'000'000);
}

TEST_CASE("the stream's rate is followed, but not one that pauses") {
    RepairRate rate = rate_of(0);
    rate.on_stream(kStart, {.bytes_per_s = 2'000'000});
    CHECK(rate.bytes_per_s() == 1'800'000);
    rate.on_stream(kStart, {.bytes_per_s = 1'000'000, .is_steady = false});
    CHECK(rate.bytes_per_s() == 1'800'000);
    rate.on_end();
    rate.on_stream(kStart, {.bytes_per_s = 4'000'000});
    CHECK(rate.bytes_per_s() == 1'800'000);
}

TEST_CASE("answers raise a rate that no stream shows") {
    RepairRate rate = rate_of(0);
    const std::uint64_t first = rate.bytes_per_s();
    rate.on_request_end(kStart, answered());
    const std::uint64_t raised = rate.bytes_per_s();
    CHECK(raised > first);
    rate.on_stream_packet(kStart);
    rate.on_stream(kStart, {.bytes_per_s = 2'000'000});
    rate.on_request_end(kStart, answered());
    CHECK(rate.bytes_per_s() == 1'800'000);
    rate.on_end();
    rate.on_request_end(kStart, answered());
    CHECK(rate.bytes_per_s() > 1'800'000);
}
