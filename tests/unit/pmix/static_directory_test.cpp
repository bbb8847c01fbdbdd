#include "pmix/static/static_directory.h"

#include "pmix/aside.h"
#include "pmix/static/hello.h"
#include "pmix/static/stream.h"
#include "tests/unit/pmix/cards.h"
#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <future>

namespace stage {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong{60'000};  ///< Never reached where all is well.
constexpr milliseconds kShort{300};

/// A port that was free a moment ago.
std::uint16_t free_port() {
    const UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(place);
    auto* const raw = reinterpret_cast<sockaddr*>(&place);
    REQUIRE(::bind(socket.get(), raw, length) == 0);
    REQUIRE(::getsockname(socket.get(), raw, &length) == 0);
    return ntohs(place.sin_port);
}

struct World {
    explicit World(std::size_t size) : hosts(size, *parse_ip("127.0.0.1")) {}

    [[nodiscard]] StaticDirectory::Group group(std::uint16_t rank) const {
        const Bytes bytes = as_bytes(secret);
        return {.hosts = hosts,
                .own = Rank{rank},
                .port = port,
                .key = std::vector<std::byte>{bytes.begin(), bytes.end()}};
    }
    using Outcome = std::future<Result<CardTable>>;
    [[nodiscard]] static Outcome start(const StaticDirectory::Group& group,
                                       WaitLimit wait_limit) {
        return std::async(std::launch::async, [group, wait_limit] {
            StaticDirectory directory{group};
            const Status published = directory.publish(card_of(group.own.value()));
            invariant(published.ok(), "a test's card is sensible");
            return directory.collect(wait_limit);
        });
    }
    [[nodiscard]] Outcome start(std::uint16_t rank, milliseconds longest = kLong) const {
        return start(group(rank), {.longest = longest});
    }

    HostList hosts;
    std::uint16_t port = free_port();
    std::string secret = "a key of thirty-two bytes, or so";
};

TEST_CASE("all members get the same table, whichever starts first") {
    World world{5};
    SECTION("with a key") {
    }
    SECTION("without") {
        world.secret.clear();
    }
    std::vector<World::Outcome> outcomes;
    for (const std::uint16_t rank : std::vector<std::uint16_t>{4, 1, 0, 3, 2}) {
        outcomes.push_back(world.start(rank));
    }
    for (auto& outcome : outcomes) {
        const Result<CardTable> cards = outcome.get();
        REQUIRE(cards);
        CHECK(*cards == cards_of(5));
    }
}

TEST_CASE("a group of one needs no connection") {
    const Result<CardTable> cards = World{1}.start(0).get();
    REQUIRE(cards);
    CHECK(*cards == cards_of(1));
}

TEST_CASE("a missing member is named on every member") {
    const World world{4};
    auto first = world.start(0, milliseconds{2000});
    auto second = world.start(1);
    const auto cards = first.get();
    REQUIRE_FALSE(cards);
    CHECK(cards.error().cause() == ETIMEDOUT);
    CHECK_THAT(cards.error().sentence(),
               Catch::StartsWith(
                   "rank 2 (127.0.0.1), rank 3 (127.0.0.1) did not connect within 1.8 s"));
    const auto others = second.get();
    REQUIRE_FALSE(others);
    CHECK_THAT(others.error().sentence(),
               Catch::Contains("rank 3 (127.0.0.1) did not connect"));
}

TEST_CASE("rank 0 that never starts is named") {
    const World world{2};
    const auto cards = world.start(1, kShort).get();
    REQUIRE_FALSE(cards);
    CHECK(cards.error().cause() == ETIMEDOUT);
    CHECK_THAT(cards.error().sentence(), Catch::Contains("rank 0 (127.0.0.1 port "));
    CHECK_THAT(cards.error().sentence(), Catch::Contains("Connection refused"));
}

TEST_CASE("another key is found out at once") {
    World world{2};
    auto first = world.start(0, milliseconds{3000});
    world.secret = "not this one";
    const auto second = world.start(1).get();
    REQUIRE_FALSE(second);
    CHECK_THAT(second.error().sentence(), Catch::Contains("it has another key; give every"));
    CHECK_THAT(first.get().error().sentence(),
               Catch::Contains("127.0.0.1 connected with another key"));
}

TEST_CASE("another host file is found out at once") {
    World world{2};
    auto first = world.start(0, milliseconds{1000});
    World other = world;
    other.hosts.push_back(*parse_ip("127.0.0.9"));
    CHECK_THAT(other.start(1).get().error().sentence(),
               Catch::Contains("rank 0 has another host file"));
    CHECK_FALSE(first.get());
}

TEST_CASE("a rank that is there already is turned away") {
    const World world{3};
    auto first = world.start(0);
    auto second = world.start(1);
    // The twin draws its own incarnation, as every process does.
    auto twin = std::async(std::launch::async, [&] {
        StaticDirectory directory{world.group(1)};
        Card card = card_of(1);
        card.incarnation[5] = std::byte{0x77};
        const Status published = directory.publish(card);
        invariant(published.ok(), "a test's card is sensible");
        return directory.collect({.longest = kLong});
    });
    // Whichever of the two came second is refused; the other one waits for rank 2.
    const UniqueFd none;
    auto third = std::async(std::launch::async, [&] {
        while (second.wait_for(milliseconds{1}) != std::future_status::ready &&
               twin.wait_for(milliseconds{1}) != std::future_status::ready) {
        }
        return world.start(2).get();
    });
    const auto table = first.get();
    REQUIRE(table);
    CHECK(table->size() == 3);
    const auto one = second.get();
    const auto two = twin.get();
    CHECK(one.ok() != two.ok());
    CHECK_THAT((one ? two : one).error().sentence(),
               Catch::Contains("rank 1 is connected already"));
    CHECK(third.get());
}

TEST_CASE("an interruption ends the wait at once") {
    const World world{2};
    for (const std::uint16_t rank : std::vector<std::uint16_t>{0, 1}) {
        const UniqueFd event = make_event();
        auto outcome =
            World::start(world.group(rank), {.longest = kLong, .interrupt_fd = event.get()});
        set_event(event);
        const auto cards = outcome.get();
        REQUIRE_FALSE(cards);
        CHECK(cards.error().cause() == ECANCELED);
    }
}

UniqueFd visit(std::uint16_t port) {
    for (;;) {
        UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        sockaddr_in place{};
        place.sin_family = AF_INET;
        place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        place.sin_port = htons(port);
        if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof(place)) == 0) {
            return socket;
        }
    }
}

TEST_CASE("silent and noisy unauthorised peers do not delay the members") {
    const World world{2};
    auto first = world.start(0);
    std::vector<UniqueFd> others;
    for (int i = 0; i < 20; ++i) {
        others.push_back(visit(world.port));
        const std::string noise(static_cast<std::size_t>(i) * 40U, 'G');
        [[maybe_unused]] const auto sent =
            ::send(others.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL);
    }
    auto second = world.start(1);
    CHECK(second.get());
    CHECK(first.get());
}

TEST_CASE("a recorded hello is worth nothing") {
    const World world{3};
    auto first = world.start(0, milliseconds{1500});
    const HelloKey key{as_bytes(world.secret), world.hosts};
    MessageStream other{visit(world.port), kMaxHelloBytes};
    HelloNonce old;
    old.fill(std::byte{3});
    other.say(encode_hello_card(key, old, card_of(1)));
    REQUIRE(other.write());
    const auto cards = first.get();
    REQUIRE_FALSE(cards);
    CHECK_THAT(cards.error().sentence(), Catch::StartsWith("rank 1 (127.0.0.1), rank 2"));
}

TEST_CASE("the wrong host can't be rank 0") {
    World world{2};
    world.hosts[0] = *parse_ip("192.0.2.1");
    const auto cards = world.start(0).get();
    REQUIRE_FALSE(cards);
    CHECK_THAT(cards.error().sentence(), Catch::Contains("192.0.2.1"));
    CHECK_THAT(cards.error().sentence(), Catch::Contains("is this the host of that line"));
}

}  // namespace
}  // namespace stage
