#include "transport/run/memory/memory_disk.h"

#include "transport/base/checksum.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

core::Operation operation(core::OperationKind kind, std::uint32_t block) {
    core::Operation made;
    made.kind = kind;
    made.block = BlockIndex{block};
    made.ticket = core::Ticket{7};
    return made;
}

core::Completion done(MemoryDisk& disk, const core::Operation& asked, MutableBytes buffer) {
    CHECK_FALSE(disk.submit(asked, buffer));
    CHECK_FALSE(disk.is_idle());
    const auto all = disk.take();
    REQUIRE(all.size() == 1);
    CHECK(disk.is_idle());
    CHECK(all.front().ticket == asked.ticket);
    return all.front();
}

std::vector<std::byte> some_bytes() {
    return std::vector<std::byte>(5000, std::byte{3});
}

}  // namespace

TEST_CASE("a source in memory describes its blocks, and finishes when it has read all") {
    std::vector<std::byte> bytes = some_bytes();
    MemoryDisk disk{1, true};
    CHECK(done(disk, operation(core::OperationKind::finish, 0), {}).verdict ==
          core::Verdict::failed);
    const core::Completion read = done(disk, operation(core::OperationKind::load, 0), bytes);
    CHECK(read.descriptor.length == bytes.size());
    CHECK(read.descriptor.wire_length == bytes.size());
    CHECK(read.descriptor.leaf == xxh3_128(bytes));
    CHECK(done(disk, operation(core::OperationKind::finish, 0), {}).verdict ==
          core::Verdict::good);
}

TEST_CASE("a receiver in memory compares a block, and gives it to peers once it has it") {
    std::vector<std::byte> bytes = some_bytes();
    MemoryDisk disk{1, false};
    core::Operation asked = operation(core::OperationKind::load, 0);
    CHECK(done(disk, asked, bytes).verdict == core::Verdict::failed);
    asked = operation(core::OperationKind::verify, 0);
    asked.descriptor = {.length = 5000, .wire_length = 5000, .leaf = xxh3_128(bytes)};
    CHECK(done(disk, asked, bytes).verdict == core::Verdict::good);
    bytes[9] = std::byte{4};
    CHECK(done(disk, asked, bytes).verdict == core::Verdict::bad_digest);
    asked.kind = core::OperationKind::store;
    CHECK(done(disk, asked, bytes).verdict == core::Verdict::good);
    CHECK(done(disk, operation(core::OperationKind::load, 0), bytes).descriptor ==
          asked.descriptor);
    CHECK(done(disk, operation(core::OperationKind::finish, 0), {}).verdict ==
          core::Verdict::good);
}

TEST_CASE("an object of another size than this member's is refused") {
    std::vector<std::byte> bytes = some_bytes();
    MemoryDisk disk{2, false};
    core::Operation asked = operation(core::OperationKind::verify, 0);
    asked.descriptor = {.length = 4999, .wire_length = 4999};
    CHECK(done(disk, asked, bytes).verdict == core::Verdict::failed);
    asked = operation(core::OperationKind::verify, 2);
    asked.descriptor = {.length = 5000, .wire_length = 5000, .leaf = xxh3_128(bytes)};
    CHECK(done(disk, asked, bytes).verdict == core::Verdict::failed);
    asked = operation(core::OperationKind::store, 0);
    CHECK(done(disk, asked, bytes).verdict == core::Verdict::good);
    CHECK(done(disk, operation(core::OperationKind::finish, 0), {}).verdict ==
          core::Verdict::failed);
}

}  // namespace stage
