// Tests that a transfer between two nodes' caches is complete or fails.
#include "stager/cache/sealed_copy.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

using namespace stage;

namespace {

DirectionKey key_of(unsigned number) {
    DirectionKey key;
    key.key[0] = static_cast<std::byte>(number);
    return key;
}

/// A file, its copy, and a connection between them.
struct CopyWorld {
    CopyWorld(const std::string& text) : size{text.size()} {
        file.reset(::open(scratch.write("file", text).c_str(), O_RDONLY | O_CLOEXEC));
        copy.reset(::open(scratch.write("copy", "").c_str(), O_RDWR | O_CLOEXEC));
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(
                    AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
        near.reset(ends[0]);
        far.reset(ends[1]);
    }
    /// Sends the file and closes the connection.
    Status send(const DirectionKey& key) {
        const Status sent = send_sealed(file.get(), near.get(), size, key);
        near.reset();
        return sent;
    }
    Result<Content> receive(const DirectionKey& key, std::uint64_t bytes) const {
        return receive_sealed(far.get(), copy.get(), bytes, key);
    }

    test::Scratch scratch;
    std::uint64_t size;
    UniqueFd file;
    UniqueFd copy;
    UniqueFd near;
    UniqueFd far;
};

Content digest_of(const std::string& text) {
    ContentHasher hasher;
    const Bytes bytes = std::as_bytes(std::span{text});
    for (std::size_t at = 0; at < bytes.size(); at += kBlockBytes) {
        hasher.add(bytes.subspan(at, std::min<std::size_t>(kBlockBytes, bytes.size() - at)));
    }
    return hasher.content();
}

}  // namespace

TEST_CASE("a file is sent from cache to cache by blocks, and named by its received content") {
    const std::string text(2 * kBlockBytes + 12'345, 'x');
    CopyWorld world{text};
    Status sent;
    std::thread sender{[&] { sent = world.send(key_of(1)); }};
    const auto content = world.receive(key_of(1), text.size());
    sender.join();
    CHECK(sent);
    REQUIRE(content);
    CHECK(*content == digest_of(text));
    CHECK(test::content_of(world.scratch.path("copy")) == text);
}

TEST_CASE("a frame under another key, or of another length, is refused") {
    CopyWorld world{"some text"};
    REQUIRE(world.send(key_of(1)));
    CHECK_FALSE(world.receive(key_of(2), 9));
    CopyWorld longer{"some text"};
    REQUIRE(longer.send(key_of(1)));
    CHECK_FALSE(longer.receive(key_of(1), 10));
    CopyWorld shorter{"some text"};
    REQUIRE(shorter.send(key_of(1)));
    CHECK_FALSE(shorter.receive(key_of(1), 8));
}

TEST_CASE("nothing is written without room in the cache") {
    CopyWorld world{"some text"};
    REQUIRE(world.send(key_of(1)));
    const auto content = receive_sealed(
        world.far.get(), world.copy.get(), 9, key_of(1), {.may_write = [](auto end) {
            return end < 9;
        }});
    REQUIRE_FALSE(content);
    CHECK_THAT(content.error().sentence(), Catch::Contains("no room"));
    CHECK(test::content_of(world.scratch.path("copy")).empty());
}

TEST_CASE("a sender that ends in the middle leaves an error, not a file") {
    const std::string text(100, 'x');
    CopyWorld world{text};
    world.size = kBlockBytes + 1;  // An entry that has become shorter.
    CHECK_FALSE(world.send(key_of(1)));
    const auto content = world.receive(key_of(1), kBlockBytes + 1);
    REQUIRE_FALSE(content);
    CHECK_THAT(content.error().sentence(), Catch::Contains("before the end of the file"));
}

TEST_CASE("a peer that always sends, but far too slowly, is given up") {
    // Each look at the clock is as much later as one frame may take, and no more.
    std::chrono::steady_clock::time_point now{};
    const SealedClock leaping = [&now] { return now += std::chrono::seconds{15}; };
    const std::string text(8 * kBlockBytes, 'x');
    CopyWorld slow{text};
    Status sent;
    std::thread sender{[&] { sent = slow.send(key_of(1)); }};
    const auto content = receive_sealed(
        slow.far.get(), slow.copy.get(), text.size(), key_of(1), {.clock = leaping});
    slow.far.reset();
    sender.join();
    REQUIRE_FALSE(content);
    CHECK_THAT(content.error().sentence(), Catch::Contains("too slow"));
    CHECK_FALSE(sent);
    CopyWorld taker{text};
    std::thread drain{[&] {
        std::array<char, 4096> room{};
        while (::read(taker.far.get(), room.data(), room.size()) != 0) {
        }
    }};
    const Status given =
        send_sealed(taker.file.get(), taker.near.get(), text.size(), key_of(1), leaping);
    taker.near.reset();
    drain.join();
    REQUIRE_FALSE(given);
    CHECK_THAT(given.error().sentence(), Catch::Contains("too slow"));
}
