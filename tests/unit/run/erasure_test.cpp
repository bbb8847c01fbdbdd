#include "transport/run/object/erasure.h"

#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

using namespace stage;
using core::ParityCode;

namespace {

constexpr std::uint16_t kChunk = 600;

ParityCode code_of(std::vector<std::uint32_t> wire_lengths, std::uint16_t parities) {
    ParityCode code;
    code.wire_lengths = std::move(wire_lengths);
    code.chunk_bytes = kChunk;
    code.parities = parities;
    return code;
}

BlockIndex parity_block(const ParityCode& code) {
    return BlockIndex{static_cast<std::uint32_t>(code.wire_lengths.size())};
}

/// An object of random bytes, in blocks, and its parities.
struct Fixture {
    Fixture(std::vector<std::uint32_t> wire_lengths, std::uint16_t parities, std::uint64_t seed)
        : code{code_of(std::move(wire_lengths), parities)}, prng{seed} {
        for (std::uint32_t block = 0; block < code.wire_lengths.size(); ++block) {
            const MutableBytes buffer = blocks.acquire(BlockIndex{block});
            std::ranges::fill(buffer, std::byte{0xee});  // what lies behind a block is not zero
            for (std::byte& each : buffer.first(code.wire_lengths[block])) {
                each = static_cast<std::byte>(prng.below(256));
            }
            right.emplace_back(buffer.begin(), buffer.begin() + code.wire_lengths[block]);
        }
        encode_parities(code, parity_block(code), blocks);
    }

    /// Forgets these symbols and makes them again from these parities.
    void lose(std::vector<std::uint16_t> lost, std::vector<std::uint16_t> with) {
        code.lost = std::move(lost);
        code.with = std::move(with);
        const auto symbols = code.symbols();
        for (const std::uint16_t symbol : code.lost) {
            const MutableBytes buffer = blocks.acquire(symbols[symbol].block);
            std::ranges::fill(
                buffer.subspan(symbols[symbol].chunk.index() * kChunk, symbols[symbol].bytes),
                std::byte{0x55});
        }
        reconstruct(code, parity_block(code), blocks);
    }
    [[nodiscard]] bool is_right() {
        for (std::uint32_t block = 0; block < right.size(); ++block) {
            const Bytes now = blocks.acquire(BlockIndex{block}).first(right[block].size());
            if (!std::ranges::equal(now, right[block])) {
                return false;
            }
        }
        return true;
    }
    /// This number of different values below `below`, ascending.
    std::vector<std::uint16_t> draw(std::size_t count, std::size_t below) {
        std::vector<std::uint16_t> all(below);
        std::iota(all.begin(), all.end(), std::uint16_t{0});
        for (std::size_t i = 0; i < count; ++i) {
            std::swap(all[i], all[i + prng.below(below - i)]);
        }
        all.resize(count);
        std::ranges::sort(all);
        return all;
    }

    ParityCode code;
    Prng prng;
    BlockStore blocks{16};
    std::vector<std::vector<std::byte>> right;
};

}  // namespace

TEST_CASE("any symbols that are lost come back from as many parities") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Prng prng{seed};
        std::vector<std::uint32_t> lengths;
        for (std::uint64_t i = 0; i <= prng.below(8); ++i) {
            lengths.push_back(
                prng.below(5) == 0 ? 0U : 1U + static_cast<std::uint32_t>(prng.below(5'000)));
        }
        lengths.push_back(1U + static_cast<std::uint32_t>(prng.below(300)));
        Fixture fixture{lengths, 16, seed};
        const std::size_t symbols = fixture.code.symbols().size();
        const std::size_t lost = 1 + prng.below(std::min<std::size_t>(symbols, 16));
        auto gone = fixture.draw(lost, symbols);
        auto with = fixture.draw(lost, 16);
        CAPTURE(seed, symbols, lost);
        fixture.lose(std::move(gone), std::move(with));
        CHECK(fixture.is_right());
    }
}

TEST_CASE("a single short packet comes back from any parity, each as long as it") {
    for (std::uint16_t parity = 0; parity < 8; ++parity) {
        Fixture fixture{{37}, 8, 5};
        CHECK(fixture.code.symbol_bytes() == 37);
        fixture.lose({0}, {parity});
        CHECK(fixture.is_right());
        CHECK(fixture.blocks.extent(BlockIndex{0}) == 37);
    }
}

TEST_CASE("parities have the page's bytes") {
    // Two symbols, 0x01 and 0x02: parity j is 1 / ((2 + j) xor 0) + 2 / ((2 + j) xor 1).
    BlockStore blocks{4};
    const ParityCode code = code_of({1, 1}, 2);
    blocks.acquire(BlockIndex{0})[0] = std::byte{1};
    blocks.acquire(BlockIndex{1})[0] = std::byte{2};
    encode_parities(code, BlockIndex{2}, blocks);
    // 1/2 = 0x8e, 1/3 = 0xf4, so 0x8e + 2 x 0xf4 = 0x8e xor 0xf5; then 0xf4 + 2 x 0x8e.
    CHECK(blocks.acquire(BlockIndex{2})[0] == std::byte{0x8e ^ 0xf5});
    CHECK(blocks.acquire(BlockIndex{2})[kChunk] == std::byte{0xf4 ^ 0x01});
    CHECK(blocks.extent(BlockIndex{2}) == 2 * kChunk);
}

TEST_CASE("a wrong parity gives wrong bytes, not a crash") {
    Fixture fixture{{3'000, 900}, 8, 9};
    fixture.blocks.acquire(BlockIndex{2})[5] ^= std::byte{1};
    fixture.lose({1, 4}, {0, 1});
    CHECK_FALSE(fixture.is_right());
}
