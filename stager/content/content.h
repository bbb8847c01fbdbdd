// Which bytes is a file made of?
//
// Two digests over the same blocks of 1 MiB. `key` is a tree of SHA-256: nobody can make
// another file that has it, so it names what the node cache holds. `sum` is what every staging
// computes anyway (docs/protocol, 4): XXH3-128 over the blocks' leaves, ten times as fast,
// which tells whether a copy is still what was put there.
//
//     leaf = SHA-256(block)    key = SHA-256("stagecast 1 content" | size u64 | leaves)
#pragma once

#include "transport/base/checksum.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

using ContentKey = std::array<std::byte, 32>;

struct Content {
    ContentKey key{};
    Digest128 sum{};

    auto operator<=>(const Content&) const = default;
};
inline constexpr std::size_t kContentBytes = 48;  ///< Key, then sum.

/// Takes the blocks of a file in order.
class ContentHasher {
  public:
    void add(Bytes block);
    /// Of all that was added.
    [[nodiscard]] Content content() const;

  private:
    std::vector<std::byte> leaves_;  ///< 32 bytes each.
    std::vector<Digest128> sums_;
    std::uint64_t size_ = 0;
};

/// XXH3-128 over leaves, which is a file's `sum`.
[[nodiscard]] Digest128 sum_of(const std::vector<Digest128>& leaves);

[[nodiscard]] std::vector<std::byte> bytes_of(const Content& content);
/// Nothing unless there are exactly kContentBytes.
[[nodiscard]] std::optional<Content> content_of_bytes(Bytes bytes);

}  // namespace stage
