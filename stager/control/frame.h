// Splits a stream into messages, each preceded by its length (32 bits, network byte order).
//
// The plugin blocks with a deadline, in client.h; the daemon's loop passes received bytes to a
// FrameReader.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"

#include <optional>
#include <vector>

namespace stage {

inline constexpr std::size_t kFrameHeaderBytes = 4;

/// Prepends the length to a message of 1..kMaxAnswerBytes bytes.
[[nodiscard]] std::vector<std::byte> framed(Bytes message);

/// Splits a stream into messages. Buffers at most one message and the bytes after it in the
/// same feed.
class FrameReader {
  public:
    /// `limit`: the longest accepted message, bytes.
    explicit FrameReader(std::size_t limit) : limit_{limit} {}

    /// Adds received bytes. Fails permanently when a length is 0 or exceeds the limit.
    [[nodiscard]] Status feed(Bytes bytes);

    /// Returns the next complete message, if there is one.
    [[nodiscard]] std::optional<std::vector<std::byte>> next();

    /// True if a part of a message is buffered: a peer that closes now has broken off.
    [[nodiscard]] bool is_midway() const { return !held_.empty(); }

  private:
    /// The length at the start of held_, once it is complete.
    [[nodiscard]] std::optional<std::size_t> announced() const;
    /// True if that length is invalid; it remains in held_, and nothing is buffered after it.
    [[nodiscard]] bool is_broken() const;

    std::size_t limit_;
    std::vector<std::byte> held_;
};

}  // namespace stage
