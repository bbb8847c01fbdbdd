// A pseudo-random number generator with a given seed, so that every run can be repeated.
//
// It returns only integers where the result decides behaviour, and no std distribution, whose
// output differs between libraries. Not for keys: those come from getrandom().
#pragma once

#include "transport/base/invariant.h"

#include <array>
#include <cstdint>

namespace stage {

__extension__ using Wide = unsigned __int128;  ///< A product of two 64-bit words.

/// xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64.
class Prng {
  public:
    explicit Prng(std::uint64_t seed) {
        for (auto& word : state_) {
            seed += 0x9e3779b97f4a7c15U;
            std::uint64_t mixed = seed;
            mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
            mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
            word = mixed ^ (mixed >> 31U);
        }
    }

    [[nodiscard]] std::uint64_t next() {
        const std::uint64_t result = rotate(state_[1] * 5U, 7) * 9U;
        const std::uint64_t shifted = state_[1] << 17U;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    /// A number in [0, bound), bound > 0. Bias below 2^-32 for bounds below 2^32 is accepted.
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
        invariant(bound > 0, "a draw has at least one outcome");
        return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64U);
    }

    /// True with probability `parts` in a million.
    [[nodiscard]] bool chance_ppm(std::uint32_t parts) { return below(1'000'000) < parts; }

    /// A number in [0, 1).
    [[nodiscard]] double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  private:
    static constexpr std::uint64_t rotate(std::uint64_t word, unsigned bits) {
        return (word << bits) | (word >> (64U - bits));
    }

    std::array<std::uint64_t, 4> state_{};
};

}  // namespace stage
