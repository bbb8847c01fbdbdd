// Turns a core's disk operations into reads and writes of the object.
//
// A source loads blocks with their descriptors. A block of zeros is a hole that needs no
// packet, and others may be compressed. A receiver verifies and stores blocks, and loads them
// again for repairs. Both have one interface, so that the disk queue need not know which it
// serves. Every call may block and belongs on the disk thread.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/core/base/contract.h"
#include "transport/run/object/block_codec.h"
#include "transport/run/object/compression_policy.h"
#include "transport/run/object/sink.h"
#include "transport/run/object/source.h"
#include "transport/run/object/stored_blocks.h"

#include <optional>
#include <vector>

namespace stage {

/// The result of an operation. `again`: the operation is to be performed again, because a
/// store's place is not known yet, or a load or finish waits for another session.
struct Performed {
    core::Completion completion;
    bool again = false;
};

class ObjectIo {
  public:
    ObjectIo() = default;
    ObjectIo(const ObjectIo&) = delete;
    ObjectIo& operator=(const ObjectIo&) = delete;
    virtual ~ObjectIo() = default;

    /// load, verify, store or finish, on the block's 1 MiB buffer (empty for finish).
    virtual Performed perform(const core::Operation& operation, MutableBytes buffer) = 0;
};

/// Verifies a small uncompressed block, which takes less time than handing it to another
/// thread. Empty for other operations. Thread-safe.
[[nodiscard]] std::optional<core::Completion> verify_at_once(const core::Operation& operation,
                                                             Bytes buffer);

/// Whether a source compresses blocks, and its first estimate of the link.
struct Shortening {
    bool is_allowed = false;
    double link_bytes_per_s = 0;  ///< 0: not known.
};

/// What compression saved.
struct ShortenedBlocks {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;       ///< Bytes of these blocks.
    std::uint64_t bytes_sent = 0;  ///< Bytes of them that travel.
};

class SourceIo final : public ObjectIo {
  public:
    /// `source` must outlive this.
    explicit SourceIo(BlockSource& source, Shortening shortening = {})
        : source_{source},
          may_shorten_{shortening.is_allowed},
          choice_{shortening.link_bytes_per_s} {}
    Performed perform(const core::Operation& operation, MutableBytes buffer) override;

    /// Valid once the session is over.
    [[nodiscard]] const ShortenedBlocks& shortened() const { return shortened_; }

  private:
    /// How a block travels: the same as the first time.
    enum class Way : unsigned char { open, whole, shorter };

    [[nodiscard]] core::Completion load(const core::Operation& operation, MutableBytes buffer);
    [[nodiscard]] bool shorten(MutableBytes block, wire::Descriptor& as);

    BlockSource& source_;
    bool may_shorten_;
    CompressionPolicy choice_;
    BlockCodec codec_;
    std::vector<Way> ways_;  ///< By block.
    ShortenedBlocks shortened_;
};

class SinkIo final : public ObjectIo {
  public:
    /// `sink` must outlive this.
    explicit SinkIo(BlockSink& sink) : sink_{sink} {}
    Performed perform(const core::Operation& operation, MutableBytes buffer) override;

  private:
    Performed store(const core::Operation& operation, MutableBytes buffer);
    core::Completion load(const core::Operation& operation, MutableBytes buffer);

    [[nodiscard]] bool restore(const core::Operation& operation, Bytes buffer);
    [[nodiscard]] bool load_into(const core::Operation& operation,
                                 wire::Descriptor& as,
                                 MutableBytes buffer);

    BlockSink& sink_;
    StoredBlocks stored_;  ///< For read_back().
    BlockCodec codec_;
    std::vector<std::byte> whole_;  ///< The block that was decompressed last.
    BlockIndex whole_of_;           ///< Valid while whole_ has bytes.
};

}  // namespace stage
