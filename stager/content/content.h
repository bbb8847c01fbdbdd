// Identifies the content of a file by two digests over its blocks of 1 MiB.
//
// `key` is a tree of SHA-256. It is collision-resistant, so it names the entries of the node
// cache. `sum` is XXH3-128 over the blocks' leaf digests, which every staging computes anyway
// (docs/protocol, 4). It is ten times as fast, and shows whether a copy is unchanged.
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

/// Computes the content of a file whose blocks are added in order.
class ContentHasher {
  public:
    void add(Bytes block);
    /// The content of all blocks added so far.
    [[nodiscard]] Content content() const;

  private:
    std::vector<std::byte> leaves_;  ///< 32 bytes each.
    std::vector<Digest128> sums_;
    std::uint64_t size_ = 0;
};

/// XXH3-128 over the leaf digests of a file, which is its `sum`.
[[nodiscard]] Digest128 sum_of(const std::vector<Digest128>& leaves);

[[nodiscard]] std::vector<std::byte> bytes_of(const Content& content);
/// Returns nothing unless there are exactly kContentBytes.
[[nodiscard]] std::optional<Content> content_of_bytes(Bytes bytes);

}  // namespace stage
