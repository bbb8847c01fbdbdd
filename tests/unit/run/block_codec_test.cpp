// Tests that a block survives compression, and that nothing else decompresses to a block.
#include "transport/run/object/block_codec.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

namespace stage {
namespace {

std::vector<std::byte> words(std::size_t bytes) {
    std::vector<std::byte> block;
    std::mt19937 draw{5};  // NOLINT(cert-msc51-cpp): the same bytes each time.
    while (block.size() < bytes) {
        const std::string word = std::to_string(draw() % 1000) + ' ';
        const Bytes raw = as_bytes(word);
        block.insert(block.end(), raw.begin(), raw.end());
    }
    block.resize(bytes);
    return block;
}

std::vector<std::byte> noise(std::size_t bytes) {
    std::vector<std::byte> block(bytes);
    std::mt19937 draw{6};  // NOLINT(cert-msc51-cpp)
    std::ranges::generate(block, [&] { return static_cast<std::byte>(draw()); });
    return block;
}

}  // namespace

TEST_CASE("a block is restored from its shorter form, the same each time") {
    BlockCodec codec;
    const std::vector<std::byte> block = words(kBlockBytes - 7);
    const Bytes given = codec.shorten(block);
    const std::vector<std::byte> shorter{given.begin(), given.end()};
    REQUIRE(!shorter.empty());
    CHECK(shorter.size() < block.size() / 2);
    std::vector<std::byte> back(block.size());
    REQUIRE(codec.restore(shorter, back));
    CHECK((back == block));
    BlockCodec other;
    CHECK(std::ranges::equal(other.shorten(block), shorter));
}

TEST_CASE("noise stays as it is") {
    BlockCodec codec;
    CHECK(codec.shorten(noise(kBlockBytes)).empty());
}

TEST_CASE("what is damaged, truncated, or gives more or less than it should is refused") {
    BlockCodec codec;
    const std::vector<std::byte> block = words(300'000);
    const Bytes given = codec.shorten(block);
    std::vector<std::byte> shorter{given.begin(), given.end()};
    std::vector<std::byte> back(block.size());
    CHECK_FALSE(codec.restore(Bytes{shorter}.first(shorter.size() / 2), back));
    std::vector<std::byte> less(block.size() - 1);
    CHECK_FALSE(codec.restore(shorter, less));
    std::vector<std::byte> more(block.size() + 1);
    CHECK_FALSE(codec.restore(shorter, more));
    shorter[0] ^= std::byte{1};
    CHECK_FALSE(codec.restore(shorter, back));
    CHECK_FALSE(codec.restore(noise(5000), back));
    CHECK_FALSE(codec.restore({}, back));
}

}  // namespace stage
