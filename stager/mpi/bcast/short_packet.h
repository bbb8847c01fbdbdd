// The packets of short messages: a header of 16 bytes, a fragment, and the tag that seals both.
//
//   0..3   mark     of the communicator's group
//   4..5   source   the member that sent it
//   6..7   length   of the whole message, bytes
//   8..15  number   of the packet: the call's number times the largest count of fragments, and
//                   the fragment's. Its sender uses it once
//
// Network byte order. Every fragment but the last is full.
#pragma once

#include "transport/base/units.h"

#include <algorithm>
#include <array>
#include <optional>

namespace stage {

inline constexpr std::size_t kShortFragmentBytes = 1024;
inline constexpr std::size_t kShortFragments = 8;
inline constexpr std::size_t kShortBytes = kShortFragments * kShortFragmentBytes;
inline constexpr std::size_t kShortHeaderBytes = 16;
inline constexpr std::size_t kShortTagBytes = 12;
inline constexpr std::size_t kShortPacketBytes =
    kShortHeaderBytes + kShortFragmentBytes + kShortTagBytes;  ///< The longest.

/// The packets of a message of `length` bytes.
[[nodiscard]] constexpr std::size_t short_fragments(std::size_t length) {
    return (length + kShortFragmentBytes - 1) / kShortFragmentBytes;
}
/// The fragment at `index` of it.
[[nodiscard]] inline Bytes short_fragment(Bytes message, std::size_t index) {
    const Bytes rest = message.subspan(index * kShortFragmentBytes);
    return rest.first(std::min(rest.size(), kShortFragmentBytes));
}

struct ShortHeader {
    std::uint32_t mark = 0;
    Rank source;
    std::uint16_t length = 0;
    std::uint64_t number = 0;

    [[nodiscard]] std::uint64_t call() const { return number / kShortFragments; }
    [[nodiscard]] std::size_t index() const { return number % kShortFragments; }
    friend bool operator==(const ShortHeader&, const ShortHeader&) = default;
};

[[nodiscard]] std::array<std::byte, kShortHeaderBytes> encode_short(const ShortHeader& header);
/// The header of a packet of any length; empty if the packet is too short for one.
[[nodiscard]] std::optional<ShortHeader> decode_short(Bytes packet);

}  // namespace stage
