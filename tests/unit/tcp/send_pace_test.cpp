// A path is a queue before a link; TCP alone keeps that queue full.
#include "transport/tcp/send_pace.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace stage;
using namespace stage::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr double kMbit = 125'000;

struct Path {
    double bytes_per_s = 100 * kMbit;
    Duration least = milliseconds{1};
    double queue_max = 0.07;  ///< Seconds.
    double others_queue = 0;  ///< What other flows keep in it, seconds.
    bool has_more = true;     ///< There is always something to send.

    SendPace pace{};
    Instant now{seconds{100}};
    double queue = 0;  ///< Bytes.
    double delivered = 0;

    /// Lets an interval pass. Returns the bytes that it delivered.
    double step(double offered = 1e12) {
        const double interval = std::chrono::duration<double>{SendPace::kInterval}.count();
        const double limit =
            pace.bytes_per_s() > 0 ? static_cast<double>(pace.bytes_per_s()) : 1e12;
        queue += std::min(limit, offered) * interval;
        const double leaves = std::min(queue, bytes_per_s * interval);
        queue = std::min(queue - leaves, queue_max * bytes_per_s);
        delivered += leaves;
        now += SendPace::kInterval;
        const auto waits = std::chrono::duration_cast<Duration>(
            std::chrono::duration<double>{queue / bytes_per_s + others_queue});
        pace.on_sample({.at = now,
                        .delivered_bytes = static_cast<std::uint64_t>(delivered),
                        .unsent_bytes = has_more ? 100'000U : 0U,
                        .round_trip = least + waits,
                        .least_round_trip = least});
        return leaves;
    }
    double wait_s() const { return queue / bytes_per_s; }
    double run(Duration time) {
        double sum = 0;
        for (Duration passed{}; passed < time; passed += SendPace::kInterval) {
            sum += step();
        }
        return sum / std::chrono::duration<double>{time}.count();
    }
};

}  // namespace

TEST_CASE("a path without a queue needs no limit") {
    Path path;
    for (int i = 0; i < 100; ++i) {
        path.step(90 * kMbit);
        CHECK(path.pace.bytes_per_s() == 0);
    }
}

TEST_CASE("a connection empties the queue that it made, and then uses the whole path") {
    Path path;
    path.bytes_per_s = GENERATE(6 * kMbit, 100 * kMbit, 10'000 * kMbit);
    path.run(milliseconds{200});
    CHECK(path.pace.bytes_per_s() > 0);
    path.run(milliseconds{500});
    double longest = 0;
    double sum = 0;
    double waits = 0;
    for (int i = 0; i < 200; ++i) {
        sum += path.step();
        waits += path.wait_s() / 200;
        longest = std::max(longest, path.wait_s());
    }
    CHECK(sum / 10 > 0.97 * path.bytes_per_s);
    CHECK(waits < 0.008);
    CHECK(longest < 0.03);
}

TEST_CASE("the limit follows the path") {
    Path path;
    path.run(seconds{2});
    path.bytes_per_s /= 2;
    path.run(seconds{1});
    CHECK(path.run(seconds{2}) > 0.95 * path.bytes_per_s);
    CHECK(path.wait_s() < 0.03);
    path.bytes_per_s *= 4;
    path.run(seconds{2});
    CHECK(path.run(seconds{2}) > 0.9 * path.bytes_per_s);
}

TEST_CASE("a queue that stays is others': no limit, for longer each time") {
    Path path;
    path.others_queue = 0.05;
    int limited = 0;
    for (int i = 0; i < 400; ++i) {
        path.step();
        limited += path.pace.bytes_per_s() > 0 ? 1 : 0;
    }
    CHECK(limited > 0);
    CHECK(limited < 400 / 4);
    path.others_queue = 0;
    path.run(seconds{17});
    CHECK(path.pace.bytes_per_s() > 0);
    CHECK(path.wait_s() < 0.03);
}

TEST_CASE("with little to send a long RTT is no reason for a limit") {
    Path path;
    path.has_more = false;
    path.others_queue = 0.05;
    path.run(seconds{5});
    CHECK(path.pace.bytes_per_s() == 0);
}

TEST_CASE("on a long path a queue of a part of its RTT is none") {
    Path path;
    path.least = milliseconds{150};
    path.queue_max = 0.05;
    path.run(seconds{5});
    CHECK(path.pace.bytes_per_s() == 0);
}

TEST_CASE("samples after a pause, or of a kernel that counts anew, are left out") {
    Path path;
    path.run(seconds{1});
    const auto before = path.pace.bytes_per_s();
    path.now += seconds{100};
    path.queue = 0.05 * path.bytes_per_s;
    path.step();
    CHECK(path.pace.bytes_per_s() == before);
    path.run(seconds{1});
    const auto limit = path.pace.bytes_per_s();
    CHECK(limit > 0);
    path.delivered = 0;
    for (int i = 0; i < 2; ++i) {
        path.step();
        CHECK(path.pace.bytes_per_s() == limit);
    }
}
