// Gives the bytes of an archive from front to back: as they arrived, or with a compression
// taken off.
#pragma once

#include "stager/files/archive/arrived_bytes.h"
#include "stager/files/archive/read_trouble.h"

#include <memory>
#include <vector>

namespace stage {

class ByteStream {
  public:
    ByteStream() = default;
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;
    virtual ~ByteStream() = default;

    /// The bytes that come next, at least one of them; 0 at the end, -1 where a trouble was
    /// set. `room` is not empty.
    [[nodiscard]] virtual std::int64_t read(MutableBytes room) = 0;
};

/// Fills `room` as far as there are bytes; -1 where a trouble was set.
[[nodiscard]] std::int64_t read_all(ByteStream& stream, MutableBytes room);

/// Holds what a decoder has read of a stream and not used yet.
class StreamInput {
  public:
    explicit StreamInput(ByteStream& from);

    /// Has at least `count` bytes, or all that are left. False where a trouble was set.
    [[nodiscard]] bool fill(std::size_t count);
    [[nodiscard]] Bytes bytes() const { return Bytes{room_}.subspan(begin_, end_ - begin_); }
    void use(std::size_t count) { begin_ += count; }
    /// Nothing is behind bytes().
    [[nodiscard]] bool is_at_end() const { return is_at_end_; }

  private:
    ByteStream& from_;
    std::vector<std::byte> room_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool is_at_end_ = false;
};

/// The bytes as they arrived.
[[nodiscard]] std::unique_ptr<ByteStream> arrived_stream(ArrivedBytes& bytes,
                                                         ReadTrouble& trouble);
/// `head`, which was read of `rest` already, and then `rest`.
[[nodiscard]] std::unique_ptr<ByteStream> stream_again(std::vector<std::byte> head,
                                                       ByteStream& rest);

// Decoders. Each verifies every checksum and length that its format has, but those at the end
// only once it was read to its end. `from` and `trouble` outlive it.

/// By zlib: libarchive reads the checksums of gzip and compares them with nothing.
[[nodiscard]] std::unique_ptr<ByteStream> gzip_stream(ByteStream& from, ReadTrouble& trouble);
/// By liblz4: libarchive does not compare the length of a frame's content. Frames of the
/// format's first version ("legacy") have no checksums and are filtered_stream()'s.
[[nodiscard]] std::unique_ptr<ByteStream> lz4_stream(ByteStream& from, ReadTrouble& trouble);

enum class Filter : unsigned char { zstd, xz, bzip2, old_lz4 };
/// By libarchive, whose libraries for these compare by themselves.
[[nodiscard]] std::unique_ptr<ByteStream> filtered_stream(Filter filter,
                                                          ByteStream& from,
                                                          ReadTrouble& trouble);

}  // namespace stage
