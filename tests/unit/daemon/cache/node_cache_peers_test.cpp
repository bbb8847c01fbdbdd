// Tests how a node's cache uses the caches of other nodes.
#include "stager/cache/sealed_copy.h"
#include "tests/unit/daemon/cache_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>

using namespace stage;

namespace {

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

/// A node whose cache asks other nodes, and stages that ask it.
struct AskingNode {
    AskingNode() { cache.set_peers(&peers); }
    AskingNode(const AskingNode&) = delete;
    AskingNode& operator=(const AskingNode&) = delete;
    ~AskingNode() { cache.set_peers(nullptr); }

    /// A stage asks for alice's file `number`.
    void ask(NodeCache::Member stage, unsigned number) {
        cache.ask(
            stage, kAlice, about(stamp(number)), [this](const WorkerCacheReply& answer, int) {
                answers.push_back(!answer.content.empty());
            });
    }

    CacheWorld world{1'000'000};
    NodeCache& cache = world.cache();
    FalsePeers peers;
    const LeasedFile file{.uid = kAlice, .stamp = stamp(1)};
    std::vector<bool> answers;  ///< For each answer: is it there?
};

}  // namespace

TEST_CASE("one stage of a node asks the other nodes, and all stages get the answer", "[root]") {
    if (!is_root()) {
        return;
    }
    AskingNode node;
    auto& [world, cache, peers, file, answers] = node;
    const auto one = cache.enter();
    const auto two = cache.enter();
    node.ask(one, 1);
    node.ask(two, 1);
    CHECK(answers.empty());
    CHECK(peers.take() == Said{"ask 1"});
    // The announced file does not arrive: the peers are asked again, no stage has an answer.
    REQUIRE(send_in(cache, file, "texx", "text"));
    world.run_until([&] { return !peers.said.empty(); });
    CHECK(peers.take() == Said{"missed 1"});
    CHECK(answers.empty());
    REQUIRE(send_in(cache, file, "text", "text"));
    world.run_until([&] { return answers.size() == 2; });
    CHECK(answers == std::vector{true, true});
    CHECK(peers.take() == Said{"here 1"});
    CHECK(world.counters.cache_fetched == 1);
    CHECK(world.cached_text(one, kAlice, stamp(1)) == "text");
    CHECK(peers.take().empty());
}

TEST_CASE("nodes that send slowly hold up nothing but their own files, and are few", "[root]") {
    if (!is_root()) {
        return;
    }
    AskingNode node;
    auto& [world, cache, peers, file, answers] = node;
    const auto waits = cache.enter();
    cache.ask(waits, kAlice, about(stamp(1)), [](const WorkerCacheReply&, int) {});
    std::vector<UniqueFd> silent;
    const auto begin = [&](unsigned number) {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        silent.emplace_back(ends[0]);
        const CopyOrder order{.way = CopyWay::receive, .size = 4, .key = {}};
        return cache.take_in({.uid = kAlice, .stamp = stamp(number)},
                             content_of_text("text"),
                             order,
                             UniqueFd{ends[1]});
    };
    unsigned number = 1;
    while (number < 100 && begin(number)) {
        ++number;
    }
    CHECK(number > 2);
    CHECK(number < 100);
    peers.take();
    world.keep(cache.enter(), kAlice, stamp(200), "kept", "kept");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    CHECK(peers.take().empty());  // None of them has given up by then.
}

TEST_CASE("a stage whose turn it is reads, and the other nodes hear when it is kept",
          "[root]") {
    if (!is_root()) {
        return;
    }
    AskingNode node;
    auto& [world, cache, peers, file, answers] = node;
    const auto one = cache.enter();
    const auto two = cache.enter();
    node.ask(one, 1);
    node.ask(two, 1);
    cache.leave(one);  // While the peers are asked: the next one takes its place.
    CHECK(answers.empty());
    cache.on_turn(file);
    CHECK(answers == std::vector{false});
    cache.on_turn(file);
    // Others may wait for it now, so it must not wait.
    node.ask(two, 2);
    CHECK(peers.take() == Said{"ask 1", "ask now 2"});
    cache.on_turn({.uid = kAlice, .stamp = stamp(2)});
    CHECK(answers == std::vector{false, false});
    world.keep(two, kAlice, stamp(1), "text", "text");
    world.run_until([&] { return !peers.said.empty(); });
    CHECK(peers.take() == Said{"here 1"});
    cache.leave(two);
    CHECK(peers.take() == Said{"gone 2"});
    // Another node is served what its user has here.
    const auto served = cache.serve(file);
    REQUIRE(served);
    CHECK(served->content == content_of_text("text"));
    CHECK(served->bytes == 4);
    CHECK_FALSE(cache.serve({.uid = kBob, .stamp = stamp(1)}));
    CHECK_FALSE(cache.serve({.uid = kAlice, .stamp = stamp(2)}));
}

TEST_CASE(
    "what its reader kept before the other nodes answered, and in vain, is read by the next",
    "[root]") {
    if (!is_root()) {
        return;
    }
    AskingNode node;
    auto& [world, cache, peers, file, answers] = node;
    const auto one = cache.enter();
    cache.ask(one, kAlice, about(stamp(1)), [](const WorkerCacheReply&, int) {});
    CHECK(peers.take() == Said{"ask 1"});
    const auto two = cache.enter();
    node.ask(two, 1);
    // Its wait has ended, and it reads; what it hands over is changed before it is copied.
    world.keep(one, kAlice, stamp(1), "text", "texx");
    cache.leave(one);
    world.run_until([&] { return !answers.empty(); });
    CHECK(answers == std::vector{false});
    cache.on_turn(file);
    CHECK(answers.size() == 1);
    cache.leave(two);
    CHECK(peers.take() == Said{"gone 1"});
}
