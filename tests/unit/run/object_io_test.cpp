#include "transport/run/object/object_io.h"

#include "transport/base/checksum.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace stage {
namespace {

constexpr BlockIndex kBlock{2};
constexpr std::size_t kLength = 5000;

/// Keeps the block that was written last, and its digest.
class StoringSink final : public BlockSink {
  public:
    Result<Placing> write(BlockIndex /*block*/, Bytes bytes, const Digest128& leaf) override {
        kept.assign(bytes.begin(), bytes.end());
        given = leaf;
        return placing;
    }
    Status read_back(BlockIndex /*block*/, std::uint32_t offset, MutableBytes room) override {
        std::copy_n(kept.begin() + offset, room.size(), room.begin());
        return {};
    }
    Status finish() override { return {}; }

    Placing placing = Placing::placed;
    std::vector<std::byte> kept;
    Digest128 given{};
};

core::Operation operation_on(core::OperationKind kind, const wire::Descriptor& descriptor) {
    core::Operation operation;
    operation.kind = kind;
    operation.block = kBlock;
    operation.descriptor = descriptor;
    return operation;
}

wire::Descriptor descriptor(Bytes bytes, wire::Encoding encoding) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    const bool is_hole = encoding == wire::Encoding::hole;
    return {.length = length,
            .wire_length = is_hole ? 0 : length,
            .encoding = encoding,
            .leaf = xxh3_128(bytes)};
}

TEST_CASE("a hole is stored as zeros, whatever its buffer held before") {
    StoringSink sink;
    SinkIo object{sink};
    std::vector<std::byte> buffer(kBlockBytes, std::byte{0xff});
    const std::vector<std::byte> zeros(kLength);
    auto said = descriptor(zeros, wire::Encoding::hole);
    said.leaf.fill(std::byte{9});  // a hole is not verified: only its bytes count
    const auto done = object.perform(operation_on(core::OperationKind::store, said), buffer);
    CHECK(done.completion.verdict == core::Verdict::good);
    CHECK(sink.kept == zeros);
    CHECK(sink.given == xxh3_128(zeros));
}

TEST_CASE("a raw block is verified, stored with its leaf, and read back") {
    StoringSink sink;
    SinkIo object{sink};
    std::vector<std::byte> buffer(kBlockBytes, std::byte{5});
    buffer[1] = std::byte{6};
    const auto said = descriptor(Bytes{buffer}.first(kLength), wire::Encoding::raw);
    const auto verify = operation_on(core::OperationKind::verify, said);
    CHECK(object.perform(verify, buffer).completion.verdict == core::Verdict::good);
    const auto store = operation_on(core::OperationKind::store, said);
    CHECK(object.perform(store, buffer).completion.verdict == core::Verdict::good);
    CHECK(sink.given == said.leaf);

    std::vector<std::byte> again(kBlockBytes);
    const auto load = operation_on(core::OperationKind::load, {});
    CHECK(object.perform(load, again).completion.verdict == core::Verdict::good);
    CHECK(std::ranges::equal(Bytes{again}.first(kLength), Bytes{buffer}.first(kLength)));

    sink.kept[0] = std::byte{7};  // the file changed on disk: this block is not had any more
    CHECK(object.perform(load, again).completion.verdict == core::Verdict::bad_digest);
    buffer[kLength - 1] = std::byte{7};
    CHECK(object.perform(verify, buffer).completion.verdict == core::Verdict::bad_digest);
}

TEST_CASE("a small block that came as it is can be verified at once, and no other") {
    std::vector<std::byte> bytes(kLength, std::byte{5});
    auto said = descriptor(bytes, wire::Encoding::raw);
    const auto right = verify_at_once(operation_on(core::OperationKind::verify, said), bytes);
    REQUIRE(right);
    CHECK(right->verdict == core::Verdict::good);
    CHECK(right->kind == core::OperationKind::verify);
    CHECK(right->block == kBlock);
    bytes[7] = std::byte{6};
    const auto wrong = verify_at_once(operation_on(core::OperationKind::verify, said), bytes);
    REQUIRE(wrong);
    CHECK(wrong->verdict == core::Verdict::bad_digest);

    CHECK_FALSE(verify_at_once(operation_on(core::OperationKind::store, said), bytes));
    said.encoding = wire::Encoding::zstd;
    CHECK_FALSE(verify_at_once(operation_on(core::OperationKind::verify, said), bytes));
    const std::vector<std::byte> large(kBlockBytes);
    said = descriptor(large, wire::Encoding::raw);
    CHECK_FALSE(verify_at_once(operation_on(core::OperationKind::verify, said), large));
}

TEST_CASE("a compressed block is loaded, verified, stored whole, and given on as it came") {
    class Words final : public BlockSource {
      public:
        [[nodiscard]] std::uint32_t block_count() const override { return 3; }
        [[nodiscard]] std::uint64_t object_bytes() const override {
            return 3 * (kBlockBytes - 9);
        }
        Result<SourceBlock> read(BlockIndex /*block*/, MutableBytes room) override {
            for (std::size_t i = 0; i < kBlockBytes - 9; ++i) {
                room[i] = static_cast<std::byte>('a' + i * i % 23 + i / 1000 % 3);
            }
            return SourceBlock{kBlockBytes - 9, xxh3_128(room.first(kBlockBytes - 9))};
        }
        Status finish() override { return {}; }
    };
    Words words;
    SourceIo source{words, {.is_allowed = true, .link_bytes_per_s = 1e6}};
    std::vector<std::byte> buffer(kBlockBytes);
    const auto load = operation_on(core::OperationKind::load, {});
    const wire::Descriptor said = source.perform(load, buffer).completion.descriptor;
    REQUIRE(said.encoding == wire::Encoding::zstd);
    CHECK(said.length == kBlockBytes - 9);
    CHECK(said.wire_length < said.length);
    CHECK(source.shortened().bytes_sent == said.wire_length);
    std::vector<std::byte> repeat(kBlockBytes);
    CHECK(source.perform(load, repeat).completion.descriptor == said);
    const Bytes sent = Bytes{buffer}.first(said.wire_length);
    CHECK(std::ranges::equal(Bytes{repeat}.first(said.wire_length), sent));
    CHECK(source.shortened().blocks == 1);

    StoringSink sink;
    SinkIo object{sink};
    const auto verify = operation_on(core::OperationKind::verify, said);
    repeat[100] ^= std::byte{1};
    CHECK(object.perform(verify, repeat).completion.verdict == core::Verdict::bad_digest);
    CHECK(object.perform(verify, buffer).completion.verdict == core::Verdict::good);
    const auto store = operation_on(core::OperationKind::store, said);
    CHECK(object.perform(store, buffer).completion.verdict == core::Verdict::good);
    CHECK(sink.kept.size() == said.length);
    CHECK(xxh3_128(sink.kept) == said.leaf);
    std::vector<std::byte> given(kBlockBytes);
    const auto loaded = object.perform(load, given).completion;
    CHECK(loaded.verdict == core::Verdict::good);
    CHECK(loaded.descriptor == said);
    CHECK(std::ranges::equal(Bytes{given}.first(said.wire_length), sent));
}

TEST_CASE("what is not allowed, or small, is left as it is") {
    class Zeros final : public BlockSource {
      public:
        [[nodiscard]] std::uint32_t block_count() const override { return 1; }
        [[nodiscard]] std::uint64_t object_bytes() const override { return 100'000; }
        Result<SourceBlock> read(BlockIndex /*block*/, MutableBytes room) override {
            std::ranges::fill(room.first(100'000), std::byte{'x'});
            return SourceBlock{100'000, xxh3_128(room.first(100'000))};
        }
        Status finish() override { return {}; }
    };
    Zeros source;
    SourceIo object{source, {.is_allowed = true, .link_bytes_per_s = 1e6}};
    std::vector<std::byte> buffer(kBlockBytes);
    const auto load = operation_on(core::OperationKind::load, {});
    CHECK(object.perform(load, buffer).completion.descriptor.encoding == wire::Encoding::raw);
}

}  // namespace
}  // namespace stage
