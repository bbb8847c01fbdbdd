// Streams the bytes of an archive from front to back, as they arrived or decompressed.
#pragma once

#include "stager/files/archive/arrived_bytes.h"
#include "stager/files/archive/read_trouble.h"

#include <memory>
#include <string>
#include <vector>

namespace stage {

class ByteStream {
  public:
    ByteStream() = default;
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;
    virtual ~ByteStream() = default;

    /// Reads the next bytes, at least one; returns 0 at the end, -1 if a trouble was set.
    /// `room` must not be empty.
    [[nodiscard]] virtual std::int64_t read(MutableBytes room) = 0;
};

/// Fills `room` as far as there are bytes; returns -1 if a trouble was set.
[[nodiscard]] std::int64_t read_all(ByteStream& stream, MutableBytes room);

/// Buffers the bytes that a decoder has read from a stream but not used yet.
class StreamInput {
  public:
    explicit StreamInput(ByteStream& from);

    /// Provides at least `count` bytes, or all that are left. Returns false if a trouble was
    /// set.
    [[nodiscard]] bool fill(std::size_t count);
    [[nodiscard]] Bytes bytes() const { return Bytes{room_}.subspan(begin_, end_ - begin_); }
    void use(std::size_t count) { begin_ += count; }
    /// True if no more bytes follow bytes().
    [[nodiscard]] bool is_at_end() const { return is_at_end_; }

  private:
    ByteStream& from_;
    std::vector<std::byte> room_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool is_at_end_ = false;
};

/// Decodes a format of members, one after the other: gzip's members, lz4's frames. As with
/// gzip(1) and lz4(1), bytes after the last member are ignored.
class MemberStream : public ByteStream {
  public:
    /// Both must outlive this. `format`: for messages. A member begins with a mark of
    /// `mark_bytes`.
    MemberStream(ByteStream& from,
                 ReadTrouble& trouble,
                 const char* format,
                 std::size_t mark_bytes);

    [[nodiscard]] std::int64_t read(MutableBytes room) final;

  protected:
    /// True if `bytes` begin with the mark of a member; there may be fewer.
    [[nodiscard]] virtual bool is_member(Bytes bytes) const = 0;
    /// Decodes from input() to `room`. Returns the bytes in `room`, or what fail() returns.
    [[nodiscard]] virtual std::int64_t decode(MutableBytes room) = 0;

    [[nodiscard]] StreamInput& input() { return input_; }
    /// The member has been decoded to its end.
    void end_member() { is_between_ = true; }
    /// Sets the trouble. Returns -1.
    [[nodiscard]] std::int64_t fail(bool is_memory, const std::string& why);

  private:
    StreamInput input_;
    ReadTrouble& trouble_;
    std::string format_;
    std::size_t mark_bytes_;
    bool is_between_ = true;  ///< Between two members.
};

/// Streams the bytes as they arrived.
[[nodiscard]] std::unique_ptr<ByteStream> arrived_stream(ArrivedBytes& bytes,
                                                         ReadTrouble& trouble);
/// Streams `head`, which was already read from `rest`, and then `rest`.
[[nodiscard]] std::unique_ptr<ByteStream> stream_again(std::vector<std::byte> head,
                                                       ByteStream& rest);

// Decoders. Each verifies every checksum and length that its format has; those at the end are
// verified only after the stream was read to its end. `from` and `trouble` must outlive the
// decoder.

/// The most memory that a decoder takes, bytes; an archive that needs more is refused. (`xz -9`
/// needs 65 MiB, `zstd --long` 128; a file of a few kilobytes may name gigabytes.)
inline constexpr std::uint64_t kDecoderBytesMax = 192U << 20U;

/// Uses zlib: libarchive reads the checksums of gzip but does not compare them.
[[nodiscard]] std::unique_ptr<ByteStream> gzip_stream(ByteStream& from, ReadTrouble& trouble);
/// Uses liblz4: libarchive does not compare the length of a frame's content. Frames of the
/// format's first version ("legacy") have no checksums; filtered_stream() decodes them.
[[nodiscard]] std::unique_ptr<ByteStream> lz4_stream(ByteStream& from, ReadTrouble& trouble);

/// Uses liblzma: libarchive lets a stream of xz take 1 GiB.
[[nodiscard]] std::unique_ptr<ByteStream> xz_stream(ByteStream& from, ReadTrouble& trouble);

enum class Filter : unsigned char { zstd, bzip2, old_lz4 };
/// Uses libarchive, whose libraries for these formats verify their checksums. (The library of
/// zstd takes 128 MiB at most by default.)
[[nodiscard]] std::unique_ptr<ByteStream> filtered_stream(Filter filter,
                                                          ByteStream& from,
                                                          ReadTrouble& trouble);

}  // namespace stage
