#include "transport/run/passage/passage.h"

#include "transport/run/object/disk_queue.h"
#include "transport/run/passage/passage_ends.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace stage {
namespace {

std::vector<std::byte> block_of(std::uint32_t number, std::size_t length = 1000) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<std::byte>(number * 31 + i % 251);
    }
    return bytes;
}

Passage again(int file) {
    auto passage = Passage::open(UniqueFd{::dup(file)});
    REQUIRE(passage);
    return *std::move(passage);
}

UniqueFd made(std::uint32_t blocks, std::uint64_t bytes) {
    auto file = Passage::make("/tmp", blocks, bytes);
    REQUIRE(file);
    return *std::move(file);
}

Status keep(Passage& passage, std::uint32_t number, std::size_t length = 1000) {
    const auto bytes = block_of(number, length);
    return passage.keep(BlockIndex{number}, bytes, xxh3_128(bytes));
}

TEST_CASE("blocks of any order are found by another process' passage") {
    const UniqueFd file = made(3, 2500);
    Passage in = again(file.get());
    PassageSource source{again(file.get())};
    CHECK(source.block_count() == 3);
    CHECK(source.object_bytes() == 2500);
    REQUIRE(keep(in, 1));
    CHECK_FALSE(source.is_here(BlockIndex{0}));
    CHECK_FALSE(source.is_here(BlockIndex{1}));  // In order only.
    REQUIRE(keep(in, 0));
    CHECK(source.is_here(BlockIndex{1}));
    CHECK_FALSE(source.is_here(BlockIndex{2}));
    REQUIRE(keep(in, 2, 500));
    std::vector<std::byte> room(kBlockBytes);
    for (const std::uint32_t number : {2U, 0U, 1U}) {
        const auto bytes = block_of(number, number == 2 ? 500 : 1000);
        REQUIRE(source.is_here(BlockIndex{number}));
        const auto got = source.read(BlockIndex{number}, room);
        REQUIRE(got);
        CHECK(got->length == bytes.size());
        CHECK(got->leaf == xxh3_128(bytes));
        CHECK(std::equal(bytes.begin(), bytes.end(), room.begin()));
    }
}

TEST_CASE("more than was announced is refused") {
    const UniqueFd file = made(2, 1500);
    Passage in = again(file.get());
    REQUIRE(keep(in, 0));
    CHECK_FALSE(keep(in, 2, 100));  // A block past the end.
    CHECK_FALSE(keep(in, 1, 501));  // A byte past the end.
    CHECK_FALSE(keep(in, 1, 0));
    CHECK_FALSE(in.find(BlockIndex{1}));
    CHECK(keep(in, 1, 500));
}

TEST_CASE("less than was announced is refused at the end") {
    const UniqueFd file = made(2, 2000);
    PassageSink sink{again(file.get()), PassageAck::nodes};
    for (const std::uint32_t number : {0U, 1U}) {
        const auto bytes = block_of(number, 999);
        REQUIRE(sink.write(BlockIndex{number}, bytes, xxh3_128(bytes)));
    }
    CHECK(sink.may_finish());
    const Status done = sink.finish();
    REQUIRE_FALSE(done);
    CHECK(done.error().sentence().find("2 blocks, 1998 bytes, and announced 2 and 2000") !=
          std::string::npos);
}

TEST_CASE("as many bytes in fewer blocks are refused, and no block is waited for") {
    const UniqueFd file = made(10, 10);
    PassageSink sink{again(file.get()), PassageAck::nodes};
    const auto bytes = block_of(0, 10);
    REQUIRE(sink.write(BlockIndex{0}, bytes, xxh3_128(bytes)));
    CHECK(sink.may_finish());
    CHECK_FALSE(sink.finish());
    // A leg that says that it ended well, whatever it sent.
    again(file.get()).end(Passage::Side::inward, Passage::End::good);
    PassageSource source{again(file.get())};
    REQUIRE(source.is_here(BlockIndex{1}));
    std::vector<std::byte> room(kBlockBytes);
    CHECK(source.read(BlockIndex{0}, room));
    const auto got = source.read(BlockIndex{1}, room);
    REQUIRE_FALSE(got);
    CHECK(got.error().sentence().find("without sending all blocks") != std::string::npos);
}

TEST_CASE("a sink takes no more once the other side has failed") {
    const UniqueFd file = made(200, 200);
    PassageSink sink{again(file.get()), PassageAck::nodes};
    const auto bytes = block_of(0, 1);
    REQUIRE(sink.write(BlockIndex{0}, bytes, xxh3_128(bytes)));
    again(file.get()).end(Passage::Side::onward, Passage::End::failed, "no node is left");
    std::uint32_t taken = 1;
    while (taken < 200 && sink.write(BlockIndex{taken}, bytes, xxh3_128(bytes))) {
        ++taken;
    }
    CHECK(taken < 100);
}

TEST_CASE("a chained end waits for the other side and has its reason") {
    const UniqueFd file = made(1, 1000);
    PassageSink sink{again(file.get()), PassageAck::nodes};
    const auto bytes = block_of(0);
    REQUIRE(sink.write(BlockIndex{0}, bytes, xxh3_128(bytes)));
    CHECK_FALSE(sink.may_finish());
    const Passage daemon = again(file.get());
    SECTION("which is good") {
        daemon.end(Passage::Side::onward, Passage::End::good);
        daemon.end(Passage::Side::onward, Passage::End::failed, "late");  // Said once.
        CHECK(sink.may_finish());
        CHECK(sink.finish());
    }
    SECTION("which is bad") {
        const std::string why(3000, 'x');
        daemon.end(Passage::Side::onward, Passage::End::failed, why);
        CHECK(sink.may_finish());
        const Status done = sink.finish();
        REQUIRE_FALSE(done);
        CHECK(done.error().sentence() == why.substr(0, Passage::kWhyMax));
    }
}

TEST_CASE("an end piece by piece waits for nothing") {
    const UniqueFd file = made(1, 1000);
    PassageSink sink{again(file.get()), PassageAck::gateway};
    const auto bytes = block_of(0);
    REQUIRE(sink.write(BlockIndex{0}, bytes, xxh3_128(bytes)));
    CHECK(sink.may_finish());
    CHECK(sink.finish());
}

TEST_CASE("a failed leg ends the sessions behind it with its reason") {
    const UniqueFd file = made(2, 2000);
    Passage in = again(file.get());
    REQUIRE(keep(in, 0));
    PassageSource source{again(file.get())};
    CHECK_FALSE(source.is_here(BlockIndex{1}));
    in.end(Passage::Side::inward, Passage::End::failed, "cluster a: the link was cut");
    CHECK(source.is_here(BlockIndex{1}));
    std::vector<std::byte> room(kBlockBytes);
    CHECK(source.read(BlockIndex{0}, room));
    const auto got = source.read(BlockIndex{1}, room);
    REQUIRE_FALSE(got);
    CHECK(got.error().sentence() == "cluster a: the link was cut");
}

TEST_CASE("a byte that the disk changed is not sent on") {
    const UniqueFd file = made(1, 1000);
    Passage in = again(file.get());
    REQUIRE(keep(in, 0));
    const auto entry = in.find(BlockIndex{0});
    REQUIRE(entry);
    REQUIRE(::pwrite(file.get(), "!", 1, static_cast<off_t>(entry->place + 7)) == 1);
    PassageSource source{again(file.get())};
    std::vector<std::byte> room(kBlockBytes);
    const auto got = source.read(BlockIndex{0}, room);
    REQUIRE_FALSE(got);
    CHECK(got.error().sentence().find("disk of this node") != std::string::npos);
}

TEST_CASE("a passage takes its room before the first byte") {
    const UniqueFd file = made(4, 3U << 20U);
    struct stat seen {};
    REQUIRE(::fstat(file.get(), &seen) == 0);
    CHECK(static_cast<std::uint64_t>(seen.st_blocks) * 512 >= (3U << 20U));
    CHECK(seen.st_nlink == 0);
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, (std::uint64_t{4} << 20U) + 1, ~std::uint64_t{0}}) {
        CHECK_FALSE(Passage::make("/tmp", 4, bytes));
    }
    CHECK_FALSE(Passage::make("/tmp", 0, 0));
    CHECK_FALSE(Passage::make("/tmp", 1U << 20U, 1U << 20U));  // A table, and no object.
    CHECK_FALSE(Passage::make("/tmp", (1U << 24U) + 1, std::uint64_t{1} << 44U));
    const auto none = Passage::make("/tmp", 1U << 24U, std::uint64_t{1} << 44U);
    REQUIRE_FALSE(none);
    CHECK(none.error().blame() == Blame::node);
    CHECK(none.error().sentence().find("/tmp") != std::string::npos);
    const auto nowhere = Passage::make("/nowhere", 1, 1);
    REQUIRE_FALSE(nowhere);
    CHECK(nowhere.error().sentence().find("/nowhere") != std::string::npos);
}

TEST_CASE("2 TiB of blocks need a table of 64 MiB beside them") {
    const std::uint32_t blocks = 1U << 21U;
    const std::uint64_t bytes = std::uint64_t{1} << 41U;
    CHECK(Passage::file_bytes(blocks, bytes) - bytes == (64U << 20U) + 4096);
}

TEST_CASE("a file of another kind is no passage") {
    const UniqueFd file = made(2, 1000);
    SECTION("cut") {
        REQUIRE(::ftruncate(file.get(), 5000) == 0);
    }
    SECTION("overwritten") {
        REQUIRE(::pwrite(file.get(), "x", 1, 0) == 1);
    }
    SECTION("with other numbers") {
        const std::uint64_t bytes = 1001;
        REQUIRE(::pwrite(file.get(), &bytes, sizeof bytes, 8) == sizeof bytes);
    }
    CHECK_FALSE(Passage::open(UniqueFd{::dup(file.get())}));
}

TEST_CASE("a disk queue reads a block of a passage once it is here, and others meanwhile") {
    const UniqueFd file = made(2, 2000);
    Passage in = again(file.get());
    REQUIRE(keep(in, 0));
    PassageSource source{again(file.get())};
    SourceIo object{source};
    DiskQueue disk{object, 1};
    std::vector<std::vector<std::byte>> rooms(2, std::vector<std::byte>(kBlockBytes));
    const auto load = [&](std::uint32_t block) {
        core::Operation operation;
        operation.kind = core::OperationKind::load;
        operation.ticket = core::Ticket{block + 1};
        operation.block = BlockIndex{block};
        REQUIRE_FALSE(disk.submit(operation, rooms[block]));
    };
    const auto next = [&] {
        pollfd one{.fd = disk.event_fd(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&one, 1, 30'000) == 1);
        const auto done = disk.take();
        REQUIRE(done.size() == 1);
        CHECK(done.front().verdict == core::Verdict::good);
        return done.front().block.value();
    };
    load(1);
    load(0);
    CHECK(next() == 0);
    CHECK(disk.is_waiting());
    REQUIRE(keep(in, 1));
    CHECK(next() == 1);
    CHECK_FALSE(disk.is_waiting());
    const auto bytes = block_of(1);
    CHECK(std::equal(bytes.begin(), bytes.end(), rooms[1].begin()));
}

TEST_CASE("a leg that follows another lacks what that one did not bring") {
    const UniqueFd file = made(6, 5500);
    {
        PassageSink first{again(file.get()), PassageAck::gateway};
        CHECK(first.held_before().runs.empty());
        for (const std::uint32_t number : {0U, 1U, 4U, 3U}) {
            const auto bytes = block_of(number);
            REQUIRE(first.write(BlockIndex{number}, bytes, xxh3_128(bytes)));
        }
    }
    PassageSink second{again(file.get()), PassageAck::gateway};
    const BlockSink::Held held = second.held_before();
    CHECK(held.bytes == 3000);
    CHECK(held.runs == std::vector<core::BlockRun>{{BlockIndex{1}, 1}, {BlockIndex{3}, 2}});
    const auto head = block_of(0);
    REQUIRE(second.write(BlockIndex{0}, head, xxh3_128(head)));
    for (const std::uint32_t number : {5U, 2U}) {
        const auto bytes = block_of(number, number == 5 ? 500 : 1000);
        REQUIRE(second.write(BlockIndex{number}, bytes, xxh3_128(bytes)));
    }
    REQUIRE(second.finish());
    PassageSource source{again(file.get())};
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t number = 0; number < 6; ++number) {
        const auto bytes = block_of(number, number == 5 ? 500 : 1000);
        REQUIRE(source.is_here(BlockIndex{number}));
        CHECK(source.block_length(BlockIndex{number}) == bytes.size());
        REQUIRE(source.read(BlockIndex{number}, room));
        CHECK(std::equal(bytes.begin(), bytes.end(), room.begin()));
    }
}

TEST_CASE("a leg that follows another with another object is refused") {
    const UniqueFd file = made(2, 2000);
    const auto head = block_of(0);
    {
        PassageSink first{again(file.get()), PassageAck::gateway};
        REQUIRE(first.write(BlockIndex{0}, head, xxh3_128(head)));
    }
    PassageSink second{again(file.get()), PassageAck::gateway};
    const auto other = block_of(7);
    const auto refused = second.write(BlockIndex{0}, other, xxh3_128(other));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().blame() == Blame::user);
    CHECK(refused.error().sentence().find("have changed") != std::string::npos);
}

}  // namespace
}  // namespace stage
