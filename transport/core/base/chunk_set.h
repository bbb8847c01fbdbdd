// A set of chunks of one block: one bit for each, with a fixed capacity.
#pragma once

#include "transport/base/invariant.h"

#include <bit>
#include <cstdint>
#include <vector>

namespace stage::core {

class ChunkSet {
  public:
    ChunkSet() = default;
    explicit ChunkSet(std::uint32_t capacity)
        : capacity_{capacity}, words_((capacity + 63U) / 64U) {}

    [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
    [[nodiscard]] std::uint32_t count() const { return count_; }
    [[nodiscard]] bool is_empty() const { return count_ == 0; }

    [[nodiscard]] bool has(std::uint32_t chunk) const {
        return chunk < capacity_ && ((words_[chunk / 64U] >> (chunk % 64U)) & 1U) != 0;
    }

    /// True if the chunk was not in the set. Requires chunk < capacity().
    bool add(std::uint32_t chunk) {
        invariant(chunk < capacity_, "a chunk lies within its set");
        std::uint64_t& word = words_[chunk / 64U];
        const std::uint64_t bit = std::uint64_t{1} << (chunk % 64U);
        if ((word & bit) != 0) {
            return false;
        }
        word |= bit;
        ++count_;
        return true;
    }

    /// True if the chunk was in the set.
    bool remove(std::uint32_t chunk) {
        if (!has(chunk)) {
            return false;
        }
        words_[chunk / 64U] &= ~(std::uint64_t{1} << (chunk % 64U));
        --count_;
        return true;
    }

    void clear() {
        for (auto& word : words_) {
            word = 0;
        }
        count_ = 0;
    }

    /// The lowest member >= from, or capacity() if there is none.
    [[nodiscard]] std::uint32_t next(std::uint32_t from) const { return find(from, 0); }
    /// The lowest non-member >= from, or capacity() if there is none.
    [[nodiscard]] std::uint32_t next_absent(std::uint32_t from) const {
        return find(from, ~std::uint64_t{0});
    }

  private:
    [[nodiscard]] std::uint32_t find(std::uint32_t from, std::uint64_t invert) const {
        if (from >= capacity_) {
            return capacity_;
        }
        std::size_t index = from / 64U;
        std::uint64_t word = (words_[index] ^ invert) & (~std::uint64_t{0} << (from % 64U));
        while (word == 0) {
            if (++index == words_.size()) {
                return capacity_;
            }
            word = words_[index] ^ invert;
        }
        const auto found = static_cast<std::uint32_t>(
            index * 64U + static_cast<std::size_t>(std::countr_zero(word)));
        return found < capacity_ ? found : capacity_;
    }

    std::uint32_t capacity_ = 0;
    std::uint32_t count_ = 0;
    std::vector<std::uint64_t> words_;
};

}  // namespace stage::core
