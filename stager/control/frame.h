// Where does one message on a stream end?
//
// After its length: 32 bits, network byte order, then the message. The plugin blocks, with a
// deadline, in client.h; the daemon's loop feeds what has arrived to a FrameReader.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/result.h"

#include <optional>
#include <vector>

namespace stage {

inline constexpr std::size_t kFrameHeaderBytes = 4;

/// The message with its length in front. Requires a message of 1..kMaxAnswerBytes bytes.
[[nodiscard]] std::vector<std::byte> framed(Bytes message);

/// Cuts a stream into messages. Holds at most one message and what followed it in the same
/// feed.
class FrameReader {
  public:
    /// `limit`: the longest message that is taken, bytes.
    explicit FrameReader(std::size_t limit) : limit_{limit} {}

    /// Takes what has been read. Fails for good when a length is 0 or beyond the limit.
    [[nodiscard]] Status feed(Bytes bytes);

    /// The next whole message, or nothing yet.
    [[nodiscard]] std::optional<std::vector<std::byte>> next();

    /// A part of a message is here: a peer that closes now broke off.
    [[nodiscard]] bool is_midway() const { return !held_.empty(); }

  private:
    /// The length announced at the head of held_, once it is whole.
    [[nodiscard]] std::optional<std::size_t> announced() const;
    /// It is none that a message may have; it stays there, and nothing is held behind it.
    [[nodiscard]] bool is_broken() const;

    std::size_t limit_;
    std::vector<std::byte> held_;
};

}  // namespace stage
