// Whose files does the node cache give to whom, and what can a lying worker do?
#include "stager/daemon/node_cache.h"

#include "stager/cache/copier.h"
#include "stager/cache/sealed_copy.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <span>

using namespace stage;

namespace {

constexpr std::uint32_t kAlice = 2001;
constexpr std::uint32_t kBob = 2002;

SourceStamp stamp(unsigned number) {
    return {static_cast<std::byte>(number)};
}
WorkerAsk about(Bytes name) {
    return {.about = {name.begin(), name.end()}};
}
Digest128 sum_of_text(const std::string& text) {
    return sum_of({xxh3_128(std::as_bytes(std::span{text}))});
}

/// A daemon's loop and spawner around a cache.
class CacheWorld {
  public:
    explicit CacheWorld(std::uint64_t size) {
        config_.cache_dir = scratch_.path("cache");
        config_.stage_root = scratch_.path("stage");
        config_.cache_size = size;
        config_.allow_ram_stage_root = true;
        auto spawner = Spawner::fork(
            {.roles = {[](int fd) { return run_cache_copier(fd); }}, .cgroup = {}});
        REQUIRE(spawner);
        auto loop = Loop::open();
        REQUIRE(loop);
        loop_.emplace(std::move(*loop));
        auto children = Children::open(*loop_, std::move(*spawner), [](const Error&) {});
        REQUIRE(children);
        children_ = std::move(*children);
        restart();
    }

    /// As the next daemon finds it.
    void restart() {
        cache_.reset();
        cache_.emplace(NodeCache::Surroundings{.loop = *loop_,
                                               .log = quiet_,
                                               .config = config_,
                                               .counters = counters,
                                               .children = *children_,
                                               .copier_role = 0});
        cache_->open();
    }

    NodeCache& cache() { return *cache_; }
    [[nodiscard]] std::string path() const { return config_.cache_dir; }

    void run_until(const std::function<bool()>& done) {
        constexpr int kLooks = 4000;
        for (int i = 0; i < kLooks && !done(); ++i) {
            loop_->after(std::chrono::milliseconds{5}, [this] { loop_->stop(); });
            loop_->run();
        }
        REQUIRE(done());
    }

    /// A worker of `uid` hands over a file with this text, and says that its sum is `sum`'s.
    void keep(NodeCache::Member member,
              std::uint32_t uid,
              const SourceStamp& of,
              const std::string& text,
              const std::string& sum) {
        const std::string path = scratch_.write("staged", text);
        cache().keep(member,
                     uid,
                     {.stamp = of, .sum = sum_of_text(sum), .bytes = text.size()},
                     StrangerFd{UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)}});
    }

    /// What is in the file of that stamp, as the cache tells `uid`; "" if it doesn't know.
    std::string told(NodeCache::Member member, std::uint32_t uid, const SourceStamp& of) {
        std::vector<std::byte> content;
        cache().ask(member, uid, about(of), [&](const WorkerTold& told, int) {
            content = told.content;
        });
        return content.empty() ? "" : read(member, uid, content);
    }
    std::string read(NodeCache::Member member, std::uint32_t uid, Bytes content) {
        std::string text;
        cache().ask(member, uid, about(content), [&](const WorkerTold&, int file) {
            std::array<char, 64> room{};
            const ssize_t got = file < 0 ? 0 : ::pread(file, room.data(), room.size(), 0);
            text.assign(room.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        });
        return text;
    }

    Counters counters;

  private:
    test::Scratch scratch_;
    Config config_;
    Logger quiet_{[](LogLevel, std::string_view) {}, LogLevel::error};
    std::optional<Loop> loop_;
    std::unique_ptr<Children> children_;
    std::optional<NodeCache> cache_;
};

/// Other nodes, as a test wants them.
class FalsePeers final : public CachePeers {
  public:
    void ask(const LeasedFile& file, bool may_wait) override {
        said.push_back((may_wait ? "ask " : "ask now ") + number(file));
    }
    void missed(const LeasedFile& file) override { said.push_back("missed " + number(file)); }
    void settle(const LeasedFile& file, bool is_here) override {
        said.push_back((is_here ? "here " : "gone ") + number(file));
    }
    /// What was said since the last look.
    std::vector<std::string> take() { return std::exchange(said, {}); }

    std::vector<std::string> said;

  private:
    static std::string number(const LeasedFile& file) {
        return std::to_string(std::to_integer<unsigned>(file.stamp[0]));
    }
};
using Said = std::vector<std::string>;

Content content_of_text(const std::string& text) {
    ContentHasher hasher;
    hasher.add(std::as_bytes(std::span{text}));
    return hasher.content();
}

/// Another node sends this text, and promises that.
Status send_in(NodeCache& cache,
               const LeasedFile& file,
               const std::string& text,
               const std::string& promised) {
    const test::Scratch scratch;
    const UniqueFd entry{::open(scratch.write("entry", text).c_str(), O_RDONLY | O_CLOEXEC)};
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    const UniqueFd far{ends[0]};
    UniqueFd near{ends[1]};
    CopyOrder order{.way = CopyWay::receive, .size = text.size()};
    order.key.key[3] = std::byte{9};
    REQUIRE(send_sealed(entry.get(), far.get(), text.size(), order.key));
    return cache.take_in(file, content_of_text(promised), order, std::move(near));
}

}  // namespace

TEST_CASE("what a user staged is known to that user, even after a restart") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    CacheWorld world{1000};
    NodeCache& cache = world.cache();
    const auto first = cache.enter();
    CHECK(world.told(first, kAlice, stamp(1)).empty());
    world.keep(first, kAlice, stamp(1), "alice's", "alice's");
    cache.leave(first);
    world.run_until([&] { return world.counters.cache_kept == 1; });
    const auto second = cache.enter();
    CHECK(world.told(second, kAlice, stamp(1)) == "alice's");
    CHECK(world.told(second, kBob, stamp(1)).empty());
    world.restart();
    CHECK(world.told(world.cache().enter(), kAlice, stamp(1)) == "alice's");
}

TEST_CASE("a worker that lies only fools its own user, if anyone") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    CacheWorld world{1000};
    NodeCache& cache = world.cache();
    const auto bob = cache.enter();
    // Bob says of alice's file what it holds; and names her entry by its digests.
    world.keep(bob, kBob, stamp(1), "poison", "poison");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    const auto alice = cache.enter();
    CHECK(world.told(alice, kAlice, stamp(1)).empty());
    world.keep(alice, kAlice, stamp(1), "alice's", "alice's");
    world.run_until([&] { return world.counters.cache_kept == 2; });
    CHECK(world.told(cache.enter(), kAlice, stamp(1)) == "alice's");
    ContentHasher hasher;
    const std::string text = "alice's";
    hasher.add(std::as_bytes(std::span{text}));
    CHECK(world.read(bob, kBob, bytes_of(hasher.content())).empty());
    cache.drop({.uid = kBob, .content = hasher.content()});  // SPOILT, of what isn't his.
    CHECK(world.told(cache.enter(), kAlice, stamp(1)) == "alice's");
    // What is handed over is not what was staged: changed meanwhile, or made up.
    world.keep(bob, kBob, stamp(2), "something", "else");
    const auto waits = cache.enter();
    bool answered = false;
    cache.ask(waits, kBob, about(stamp(2)), [&](const WorkerTold& told, int) {
        answered = told.content.empty();
    });
    world.run_until([&] { return answered; });
    CHECK(world.counters.cache_kept == 2);
}

TEST_CASE("who asks while a file is read waits, and has it from the cache") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    CacheWorld world{1000};
    NodeCache& cache = world.cache();
    const auto reader = cache.enter();
    CHECK(world.told(reader, kAlice, stamp(1)).empty());
    int told = 0;
    const auto count = [&](const WorkerTold& answer, int) { told += !answer.content.empty(); };
    const auto one = cache.enter();
    const auto two = cache.enter();
    cache.ask(one, kAlice, about(stamp(1)), count);
    cache.ask(two, kAlice, about(stamp(1)), count);
    CHECK(told == 0);
    world.keep(reader, kAlice, stamp(1), "text", "text");
    cache.leave(reader);
    world.run_until([&] { return told == 2; });
    CHECK(world.counters.cache_kept == 1);
}

TEST_CASE("who asks on before it was answered is told nothing of the wrong file") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    CacheWorld world{1000};
    NodeCache& cache = world.cache();
    const auto reader = cache.enter();
    CHECK(world.told(reader, kAlice, stamp(1)).empty());
    CHECK(world.told(cache.enter(), kAlice, stamp(2)).empty());  // Which it is to read.
    const auto impatient = cache.enter();
    std::map<SourceStamp, std::vector<WorkerTold>> told;
    const auto ask = [&](const SourceStamp& of) {
        cache.ask(impatient, kAlice, about(of), [&told, of](const WorkerTold& answer, int) {
            told[of].push_back(answer);
        });
    };
    ask(stamp(1));
    CHECK(told.empty());
    ask(stamp(2));
    REQUIRE(told[stamp(2)].size() == 1);
    CHECK(told[stamp(2)][0].about == about(stamp(2)).about);
    CHECK(told[stamp(2)][0].content.empty());
    world.keep(reader, kAlice, stamp(1), "text", "text");
    world.run_until([&] { return !told[stamp(1)].empty(); });
    REQUIRE(told[stamp(1)].size() == 1);
    CHECK(told[stamp(1)][0].about == about(stamp(1)).about);
    CHECK(world.read(impatient, kAlice, told[stamp(1)][0].content) == "text");
    CHECK(told[stamp(2)].size() == 1);
    // Answered, it may wait again.
    ask(stamp(2));
    CHECK(told[stamp(2)].size() == 1);
}

TEST_CASE("a stage that asks without end is told nothing, and others are") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    CacheWorld world{1000};
    NodeCache& cache = world.cache();
    const auto first = cache.enter();
    world.keep(first, kAlice, stamp(1), "text", "text");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    const auto asks = cache.enter();
    for (std::size_t i = 0; i < kMaxAsks / 2; ++i) {  // Each time by stamp and by content.
        REQUIRE(world.told(asks, kAlice, stamp(1)) == "text");
    }
    CHECK(world.told(asks, kAlice, stamp(1)).empty());
    CHECK(world.told(cache.enter(), kAlice, stamp(1)) == "text");
}

TEST_CASE("the cache keeps to its size, and nothing that is in use goes") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    CacheWorld world{10};
    NodeCache& cache = world.cache();
    const auto first = cache.enter();
    world.keep(first, kAlice, stamp(1), "six by", "six by");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    CHECK(world.told(first, kAlice, stamp(1)) == "six by");  // And has it in use.
    const auto second = cache.enter();
    bool answered = false;
    const auto on_answer = [&](const WorkerTold&, int) { answered = true; };
    world.keep(second, kAlice, stamp(2), "eight by", "eight by");
    cache.ask(cache.enter(), kAlice, about(stamp(2)), on_answer);
    world.run_until([&] { return answered; });
    CHECK(world.counters.cache_kept == 1);
    cache.leave(first);
    world.keep(second, kAlice, stamp(3), "eight by", "eight by");
    world.run_until([&] { return world.counters.cache_kept == 2; });
    CHECK(world.counters.cache_evicted == 1);
    CHECK(cache.shelf().bytes() == 8);
    CHECK(world.told(second, kAlice, stamp(1)).empty());
}

TEST_CASE("one stage of a node asks the other nodes, and all are told what comes of it") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    CacheWorld world{1000};
    NodeCache& cache = world.cache();
    FalsePeers peers;
    cache.set_peers(&peers);
    const LeasedFile file{.uid = kAlice, .stamp = stamp(1)};
    std::vector<bool> told;
    const auto on_told = [&](const WorkerTold& answer, int) {
        told.push_back(!answer.content.empty());
    };
    const auto one = cache.enter();
    const auto two = cache.enter();
    cache.ask(one, kAlice, about(stamp(1)), on_told);
    cache.ask(two, kAlice, about(stamp(1)), on_told);
    CHECK(told.empty());
    CHECK(peers.take() == Said{"ask 1"});
    // What was promised does not come: the peers are asked again, nobody has heard anything.
    REQUIRE(send_in(cache, file, "texx", "text"));
    world.run_until([&] { return !peers.said.empty(); });
    CHECK(peers.take() == Said{"missed 1"});
    CHECK(told.empty());
    REQUIRE(send_in(cache, file, "text", "text"));
    world.run_until([&] { return told.size() == 2; });
    CHECK(told == std::vector{true, true});
    CHECK(peers.take() == Said{"here 1"});
    CHECK(world.counters.cache_fetched == 1);
    CHECK(world.told(one, kAlice, stamp(1)) == "text");
    CHECK(peers.take().empty());
    cache.set_peers(nullptr);
}

TEST_CASE("a stage whose turn it is reads, and the other nodes hear when it is kept") {
    if (!test::is_root()) {
        WARN("skipped: needs root");
        return;
    }
    CacheWorld world{1000};
    NodeCache& cache = world.cache();
    FalsePeers peers;
    cache.set_peers(&peers);
    const LeasedFile file{.uid = kAlice, .stamp = stamp(1)};
    std::vector<bool> told;
    const auto on_told = [&](const WorkerTold& answer, int) {
        told.push_back(!answer.content.empty());
    };
    const auto one = cache.enter();
    const auto two = cache.enter();
    cache.ask(one, kAlice, about(stamp(1)), on_told);
    cache.ask(two, kAlice, about(stamp(1)), on_told);
    cache.leave(one);  // While the peers are asked: the next one takes its place.
    CHECK(told.empty());
    cache.on_turn(file);
    CHECK(told == std::vector{false});
    cache.on_turn(file);
    // Others may wait for it now, so it waits for nobody.
    cache.ask(two, kAlice, about(stamp(2)), on_told);
    CHECK(peers.take() == Said{"ask 1", "ask now 2"});
    cache.on_turn({.uid = kAlice, .stamp = stamp(2)});
    CHECK(told == std::vector{false, false});
    world.keep(two, kAlice, stamp(1), "text", "text");
    world.run_until([&] { return !peers.said.empty(); });
    CHECK(peers.take() == Said{"here 1"});
    cache.leave(two);
    CHECK(peers.take() == Said{"gone 2"});
    // Another node is lent what its user has here.
    const auto lent = cache.lend(file);
    REQUIRE(lent);
    CHECK(lent->content == content_of_text("text"));
    CHECK(lent->bytes == 4);
    CHECK_FALSE(cache.lend({.uid = kBob, .stamp = stamp(1)}));
    CHECK_FALSE(cache.lend({.uid = kAlice, .stamp = stamp(2)}));
    cache.set_peers(nullptr);
}
