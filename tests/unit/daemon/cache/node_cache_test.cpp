// Tests which users get which cached files, and that a lying worker harms only itself.
#include "stager/daemon/cache/node_cache.h"

#include "tests/unit/daemon/cache_world.h"
#include "tests/unit/root.h"
#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <csignal>
#include <fstream>
#include <map>

using namespace stage;

TEST_CASE("a user's staged files are known to that user, even after a restart", "[root]") {
    if (!is_root()) {
        return;
    }
    CacheWorld world{1'000'000};
    NodeCache& cache = world.cache();
    const auto first = cache.enter();
    CHECK(world.cached_text(first, kAlice, stamp(1)).empty());
    world.keep(first, kAlice, stamp(1), "alice's", "alice's");
    cache.leave(first);
    world.run_until([&] { return world.counters.cache_kept == 1; });
    const auto second = cache.enter();
    CHECK(world.cached_text(second, kAlice, stamp(1)) == "alice's");
    CHECK(world.cached_text(second, kBob, stamp(1)).empty());
    world.restart();
    CHECK(world.cached_text(world.cache().enter(), kAlice, stamp(1)) == "alice's");
}

TEST_CASE("a worker that lies only fools its own user, if anyone", "[root]") {
    if (!is_root()) {
        return;
    }
    CacheWorld world{1'000'000};
    NodeCache& cache = world.cache();
    const auto bob = cache.enter();
    // Bob says of alice's file what it holds; and names her entry by its digests.
    world.keep(bob, kBob, stamp(1), "poison", "poison");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    const auto alice = cache.enter();
    CHECK(world.cached_text(alice, kAlice, stamp(1)).empty());
    world.keep(alice, kAlice, stamp(1), "alice's", "alice's");
    world.run_until([&] { return world.counters.cache_kept == 2; });
    CHECK(world.cached_text(cache.enter(), kAlice, stamp(1)) == "alice's");
    ContentHasher hasher;
    const std::string text = "alice's";
    hasher.add(std::as_bytes(std::span{text}));
    CHECK(world.read(bob, kBob, bytes_of(hasher.content())).empty());
    cache.drop({.uid = kBob, .content = hasher.content()});  // SPOILT, of what isn't his.
    CHECK(world.cached_text(cache.enter(), kAlice, stamp(1)) == "alice's");
    // What is handed over is not what was staged: changed meanwhile, or made up.
    world.keep(bob, kBob, stamp(2), "something", "else");
    const auto waits = cache.enter();
    bool answered = false;
    cache.ask(waits, kBob, about(stamp(2)), [&](const WorkerCacheReply& reply, int) {
        answered = reply.content.empty();
    });
    world.run_until([&] { return answered; });
    CHECK(world.counters.cache_kept == 2);
}

TEST_CASE("a stage that asks while a file is read waits, and gets it from the cache",
          "[root]") {
    if (!is_root()) {
        return;
    }
    CacheWorld world{1'000'000};
    NodeCache& cache = world.cache();
    const auto reader = cache.enter();
    CHECK(world.cached_text(reader, kAlice, stamp(1)).empty());
    int answers = 0;
    const auto count = [&](const WorkerCacheReply& answer, int) {
        answers += !answer.content.empty();
    };
    const auto one = cache.enter();
    const auto two = cache.enter();
    cache.ask(one, kAlice, about(stamp(1)), count);
    cache.ask(two, kAlice, about(stamp(1)), count);
    CHECK(answers == 0);
    world.keep(reader, kAlice, stamp(1), "text", "text");
    cache.leave(reader);
    world.run_until([&] { return answers == 2; });
    CHECK(world.counters.cache_kept == 1);
}

TEST_CASE("a stage that asks on before its answer gets no answer about the wrong file",
          "[root]") {
    if (!is_root()) {
        return;
    }
    CacheWorld world{1'000'000};
    NodeCache& cache = world.cache();
    const auto reader = cache.enter();
    CHECK(world.cached_text(reader, kAlice, stamp(1)).empty());
    CHECK(world.cached_text(cache.enter(), kAlice, stamp(2)).empty());  // Which it is to read.
    const auto impatient = cache.enter();
    std::map<SourceStamp, std::vector<WorkerCacheReply>> answers;
    const auto ask = [&](const SourceStamp& of) {
        cache.ask(
            impatient, kAlice, about(of), [&answers, of](const WorkerCacheReply& answer, int) {
                answers[of].push_back(answer);
            });
    };
    ask(stamp(1));
    CHECK(answers.empty());
    ask(stamp(2));
    REQUIRE(answers[stamp(2)].size() == 1);
    CHECK(answers[stamp(2)][0].about == about(stamp(2)).about);
    CHECK(answers[stamp(2)][0].content.empty());
    world.keep(reader, kAlice, stamp(1), "text", "text");
    world.run_until([&] { return !answers[stamp(1)].empty(); });
    REQUIRE(answers[stamp(1)].size() == 1);
    CHECK(answers[stamp(1)][0].about == about(stamp(1)).about);
    CHECK(world.read(impatient, kAlice, answers[stamp(1)][0].content) == "text");
    CHECK(answers[stamp(2)].size() == 1);
    // Answered, it may wait again.
    ask(stamp(2));
    CHECK(answers[stamp(2)].size() == 1);
}

TEST_CASE("a stage that asks without end gets no answer, and others do", "[root]") {
    if (!is_root()) {
        return;
    }
    CacheWorld world{1'000'000};
    NodeCache& cache = world.cache();
    const auto first = cache.enter();
    world.keep(first, kAlice, stamp(1), "text", "text");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    const auto asks = cache.enter();
    for (std::size_t i = 0; i < kMaxAsks / 2; ++i) {  // Each time by stamp and by content.
        REQUIRE(world.cached_text(asks, kAlice, stamp(1)) == "text");
    }
    CHECK(world.cached_text(asks, kAlice, stamp(1)).empty());
    CHECK(world.cached_text(cache.enter(), kAlice, stamp(1)) == "text");
}

TEST_CASE("the cache keeps to its size, and nothing that is in use goes", "[root]") {
    if (!is_root()) {
        return;
    }
    const std::uint64_t each = least_taken(1) + kNameTakes;
    CacheWorld world{2 * each - 1};
    NodeCache& cache = world.cache();
    const auto first = cache.enter();
    world.keep(first, kAlice, stamp(1), "six by", "six by");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    CHECK(world.cached_text(first, kAlice, stamp(1)) == "six by");  // And has it in use.
    const auto second = cache.enter();
    bool answered = false;
    const auto on_answer = [&](const WorkerCacheReply&, int) { answered = true; };
    world.keep(second, kAlice, stamp(2), "eight by", "eight by");
    cache.ask(cache.enter(), kAlice, about(stamp(2)), on_answer);
    world.run_until([&] { return answered; });
    CHECK(world.counters.cache_kept == 1);
    cache.leave(first);
    world.keep(second, kAlice, stamp(3), "eight by", "eight by");
    world.run_until([&] { return world.counters.cache_kept == 2; });
    CHECK(world.counters.cache_evicted == 1);
    CHECK(cache.index().taken() == each);
    CHECK(world.cached_text(second, kAlice, stamp(1)).empty());
}

TEST_CASE("a worker's claimed size evicts nothing: only written bytes do", "[root]") {
    if (!is_root()) {
        return;
    }
    constexpr std::uint64_t kSize = 64 * kBlockBytes;
    CacheWorld world{kSize};
    NodeCache& cache = world.cache();
    const auto alice = cache.enter();
    world.keep(alice, kAlice, stamp(1), "alice's", "alice's");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    cache.leave(alice);
    const auto bob = cache.enter();
    const auto is_over = [&](const SourceStamp& of) {
        bool answered = false;
        cache.ask(cache.enter(), kBob, about(of), [&](const WorkerCacheReply&, int) {
            answered = true;
        });
        world.run_until([&] { return answered; });
    };
    // One byte, said to be as much as there is room for.
    CHECK(world.cached_text(bob, kBob, stamp(2)).empty());
    world.keep_as(bob, kBob, stamp(2), world.text_file("x"), kSize - 2 * kNameTakes);
    is_over(stamp(2));
    // A pipe, into which nothing comes; and a file that says much and gives nothing.
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const UniqueFd writing{ends[1]};
    CHECK(world.cached_text(bob, kBob, stamp(3)).empty());
    world.keep_as(bob, kBob, stamp(3), UniqueFd{ends[0]}, kSize / 2);
    is_over(stamp(3));
    CHECK(world.counters.cache_evicted == 0);
    CHECK(world.cached_text(cache.enter(), kAlice, stamp(1)) == "alice's");
    // More than there is place for is not even begun.
    world.keep_as(bob, kBob, stamp(4), world.text_file("x"), ~std::uint64_t{0});
    CHECK(world.cached_text(cache.enter(), kAlice, stamp(1)) == "alice's");
}

TEST_CASE("a copy has room while it is written, and gives it back", "[root]") {
    if (!is_root()) {
        return;
    }
    const std::string half(5 * kBlockBytes, 'x');
    CacheWorld world{10 * kBlockBytes};
    NodeCache& cache = world.cache();
    const auto one = cache.enter();
    // What is half of it and a little: each is kept in its turn, never two of them.
    for (unsigned number = 1; number <= 4; ++number) {
        const std::string text = half + std::to_string(number);
        world.keep(one, kAlice, stamp(number), text, text);
        world.run_until([&] { return world.counters.cache_kept == number; });
    }
    CHECK(world.counters.cache_evicted == 3);
    CHECK(cache.index().room_for(10 * kBlockBytes - cache.index().taken()));
    CHECK(cache.index().taken() <= 10 * kBlockBytes);
    // Spoilt on the way: its room is free again.
    world.keep(one, kAlice, stamp(9), half, "else");
    bool answered = false;
    cache.ask(cache.enter(), kAlice, about(stamp(9)), [&](const WorkerCacheReply& reply, int) {
        answered = reply.content.empty();
    });
    world.run_until([&] { return answered; });
    CHECK(cache.index().room_for(10 * kBlockBytes));
}

TEST_CASE("a copier that is killed gives its room back", "[root]") {
    if (!is_root()) {
        return;
    }
    constexpr std::uint64_t kSize = 64 * kBlockBytes;
    const test::Scratch scratch;
    const std::string pid_file = scratch.path("pid");
    // It is let write half of what there is, and goes no further.
    CacheWorld world{kSize, [pid_file](int fd) {
                         std::ofstream{pid_file} << ::getpid();
                         std::array<std::byte, 4096> room{};
                         ByteWriter question;
                         question.u8(2).u64(kSize / 2);
                         const Bytes said = question.view();
                         const bool is_asked =
                             ::recv(fd, room.data(), room.size(), 0) > 0 &&
                             ::send(fd, said.data(), said.size(), MSG_NOSIGNAL) > 0;
                         while (is_asked && ::recv(fd, room.data(), room.size(), 0) > 0) {
                         }
                         return 1;
                     }};
    NodeCache& cache = world.cache();
    for (unsigned number = 1; number <= 3; ++number) {
        const auto one = cache.enter();
        world.keep_as(one, kAlice, stamp(number), world.text_file("x"), kSize / 2);
        world.run_until([&] { return !cache.index().room_for(kSize - kNameTakes); });
        pid_t pid = 0;
        std::ifstream{pid_file} >> pid;
        REQUIRE(::kill(pid, SIGKILL) == 0);
        world.run_until([&] { return cache.index().room_for(kSize).has_value(); });
        cache.leave(one);
    }
}

TEST_CASE("a user's many files don't keep another's waiting", "[root]") {
    if (!is_root()) {
        return;
    }
    constexpr unsigned kMany = 200;
    CacheWorld world{10'000'000};
    NodeCache& cache = world.cache();
    const auto bob = cache.enter();
    for (unsigned number = 1; number <= kMany; ++number) {
        const std::string text = "bob's " + std::to_string(number);
        world.keep(bob, kBob, stamp(number), text, text);
    }
    const auto alice = cache.enter();
    CHECK(world.cached_text(alice, kAlice, stamp(1)).empty());
    world.keep(alice, kAlice, stamp(1), "alice's", "alice's");
    std::uint64_t before = 0;
    cache.ask(cache.enter(), kAlice, about(stamp(1)), [&](const WorkerCacheReply& reply, int) {
        CHECK_FALSE(reply.content.empty());
        before = world.counters.cache_kept;
    });
    world.run_until([&] { return before > 0; });
    CHECK(before < kMany / 2);
    // And all of bob's are kept in the end.
    world.run_until([&] { return world.counters.cache_kept == kMany + 1; });
}
