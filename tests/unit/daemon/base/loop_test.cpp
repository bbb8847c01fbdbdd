#include "stager/daemon/base/loop.h"

#include <catch2/catch.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <string>

using namespace stage;
using namespace std::chrono_literals;

namespace {

struct LoopPipe {
    UniqueFd out;
    UniqueFd in;
    LoopPipe() {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) == 0) {
            out.reset(ends[0]);
            in.reset(ends[1]);
        }
    }
    void put() const { static_cast<void>(::write(in.get(), "x", 1) == 1); }
};

Loop make_loop() {
    auto loop = Loop::open();
    REQUIRE(loop);
    return std::move(*loop);
}

}  // namespace

TEST_CASE("timers come in their order, and what is cancelled does not come") {
    Loop loop = make_loop();
    std::string order;
    loop.after(2ms, [&] { order += "b"; });
    loop.after(1ms, [&] { order += "a"; });
    const auto dropped = loop.after(1ms, [&] { order += "x"; });
    loop.after(3ms, [&] {
        order += "c";
        loop.stop();
    });
    loop.cancel(dropped);
    loop.cancel(0);
    loop.run();
    CHECK(order == "abc");
}

TEST_CASE("a timer set in a timer waits for the next round, so no descriptor starves") {
    Loop loop = make_loop();
    int rounds = 0;
    std::function<void()> again = [&] {
        if (++rounds == 50) {
            loop.stop();
        } else {
            loop.at(loop.now(), again);
        }
    };
    int between = 0;
    loop.before_wait([&] { ++between; });
    loop.at(loop.now(), again);
    loop.run();
    CHECK(rounds == 50);
    CHECK(between >= 49);
}

TEST_CASE("an alarm is the last time it was set to") {
    Loop loop = make_loop();
    int rung = 0;
    Alarm alarm{loop, [&] {
                    ++rung;
                    loop.stop();
                }};
    alarm.set(loop.now() + 1h);
    alarm.set(loop.now());
    loop.run();
    CHECK(rung == 1);
    alarm.set(loop.now());
    alarm.set(std::nullopt);
    loop.defer([&] { loop.after(1ms, [&] { loop.stop(); }); });
    Loop other = make_loop();
    CHECK(rung == 1);
}

TEST_CASE("a descriptor that is forgotten in the same round is not called any more") {
    Loop loop = make_loop();
    const LoopPipe one;
    const LoopPipe two;
    one.put();
    two.put();
    int calls = 0;
    const auto first_come = [&](auto) {
        ++calls;
        loop.forget(one.out.get());
        loop.forget(two.out.get());
        loop.defer([&] { loop.stop(); });
    };
    REQUIRE(loop.watch(one.out.get(), EPOLLIN, first_come));
    REQUIRE(loop.watch(two.out.get(), EPOLLIN, first_come));
    loop.run();
    CHECK(calls == 1);
}

TEST_CASE("a descriptor's number that is used again is another descriptor") {
    Loop loop = make_loop();
    auto one = std::make_unique<LoopPipe>();
    one->put();
    int old_calls = 0;
    int new_calls = 0;
    REQUIRE(loop.watch(one->out.get(), EPOLLIN, [&](auto) { ++old_calls; }));
    loop.forget(one->out.get());
    one = nullptr;
    const LoopPipe two;
    two.put();
    REQUIRE(loop.watch(two.out.get(), EPOLLIN, [&](auto) {
        ++new_calls;
        loop.stop();
    }));
    loop.run();
    CHECK(old_calls == 0);
    CHECK(new_calls == 1);
}
