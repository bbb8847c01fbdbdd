// The units of stagecast: time, ranks, blocks and chunks.
//
// They are different types, so that the compiler refuses to mix them. Positions are 64-bit in
// memory and never wrap. No code below transport/run reads a clock: an Instant is passed in,
// and its epoch has no meaning.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stage {

using Duration = std::chrono::nanoseconds;

/// The time line that Instants lie on. It has no now(): see transport/run/loop.h.
struct TimeLine {
    using rep = Duration::rep;
    using period = Duration::period;
    using duration = Duration;
    using time_point = std::chrono::time_point<TimeLine>;
    static constexpr bool is_steady = true;
};

using Instant = TimeLine::time_point;

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// The time that this number of bytes takes at a rate that is not 0.
[[nodiscard]] constexpr Duration time_of(std::uint64_t bytes, std::uint64_t bytes_per_s) {
    return Duration{static_cast<Duration::rep>(bytes * 1'000'000'000 / bytes_per_s)};
}

/// A whole number that counts or names one kind of thing. `Tag` distinguishes the kinds.
template <class Tag, class Rep>
class Ordinal {
  public:
    using rep = Rep;

    constexpr Ordinal() = default;
    constexpr explicit Ordinal(Rep value) : value_{value} {}

    [[nodiscard]] constexpr Rep value() const { return value_; }
    /// The number as an index into a container.
    [[nodiscard]] constexpr std::size_t index() const { return value_; }

    constexpr Ordinal& operator++() {
        ++value_;
        return *this;
    }
    constexpr auto operator<=>(const Ordinal&) const = default;

  private:
    Rep value_{};
};

/// A member of the group: its line in the node list, from 0. 16 bits on the wire.
using Rank = Ordinal<struct RankTag, std::uint16_t>;
/// A block of the object, from 0. 32 bits on the wire.
using BlockIndex = Ordinal<struct BlockTag, std::uint32_t>;
/// A chunk of a block, from 0. 16 bits on the wire.
using ChunkIndex = Ordinal<struct ChunkTag, std::uint16_t>;
/// One of the parallel flows of a broadcast, from 0.
using Flow = Ordinal<struct FlowTag, std::uint8_t>;

/// Size of every block of an object but shorter ones that a file's end makes, bytes.
inline constexpr std::uint32_t kBlockBytes = 1U << 20U;

}  // namespace stage
