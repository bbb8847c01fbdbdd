// Knows what the source has read of the object and what it can give.
//
// It owns the descriptors, the buffers of resident blocks and the first pass, which fills both.
// A block that was read a second time must equal what was read first.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/holdings.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/sending/buffer_pool.h"
#include "transport/core/sending/source_descriptors.h"
#include "transport/core/source/first_pass.h"

#include <optional>
#include <vector>

namespace stage::core {

class SourceBlocks final : public Holdings {
  public:
    SourceBlocks(const CoreConfig& config, const ObjectShape& shape, const Limits& limits);

    [[nodiscard]] FirstPass& pass() { return pass_; }
    [[nodiscard]] const FirstPass& pass() const { return pass_; }
    [[nodiscard]] BufferPool& pool() { return pool_; }
    /// All, if the object is small (Limits::source_descriptors_max).
    [[nodiscard]] const DescriptorTable& descriptors() const { return descriptors_.recent(); }
    [[nodiscard]] bool was_read(BlockIndex block) const { return descriptors_.was_read(block); }
    [[nodiscard]] std::uint32_t chunks_max() const { return cut_.chunks_max(); }

    /// A load ended well: the bytes of a block that was read for the first time, 0 for one that
    /// was read back, or the error (Blame::user) that the file has changed meanwhile.
    [[nodiscard]] Result<std::uint64_t> on_loaded(const Completion& done);
    /// The body of a DESCRIBE at the pass' cursor, or of the block before it; empty at first.
    [[nodiscard]] std::vector<std::byte> describe_progress() const;
    /// All chunks of the object, as far as they are known, and their number.
    struct Whole {
        std::vector<wire::ChunkRun> runs;
        std::uint64_t chunks = 0;
    };
    [[nodiscard]] Whole whole() const;

    // Holdings:
    [[nodiscard]] bool has(BlockIndex block, std::uint32_t chunk) const override;
    [[nodiscard]] bool can_load(BlockIndex block) const override;
    [[nodiscard]] bool is_absent(BlockIndex block) const override {
        return block.value() >= blocks_;
    }
    [[nodiscard]] std::uint32_t chunks(BlockIndex block) const override;
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex block,
                                                  std::uint32_t count) const override;
    [[nodiscard]] bool is_described_by_load(BlockIndex block) const override {
        return can_load(block) && descriptors_.find(block) == nullptr;
    }

  private:
    Cut cut_;
    std::uint32_t blocks_;
    BufferPool pool_;
    SourceDescriptors descriptors_;
    FirstPass pass_;
};

/// The first block that the source needs for its own copy.
[[nodiscard]] BlockIndex first_block_to_read(const CoreConfig& config,
                                             const ObjectShape& shape);

}  // namespace stage::core
