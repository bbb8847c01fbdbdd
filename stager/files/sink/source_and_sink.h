// Gives the source's own node its files from the same reads that feed the broadcast.
//
// Every block goes to the local sink when it is first read, so that a file is read once, and
// this node gets the same bytes as the group. A file that the sink had beforehand (from the
// node's cache) is not read at all: others get it from there.
#pragma once

#include "stager/files/sink/file_sink.h"
#include "stager/files/source/file_source.h"

#include <functional>

namespace stage {

class SourceAndSink final : public BlockSource {
  public:
    /// `source` and `sink` must outlive the object. `is_coming`: the source's blocks come while
    /// it is read, and `sink` has none before; a block counts as here once all before it were
    /// read, because the sink needs them in order.
    SourceAndSink(SizedSource& source, FileSink& sink, bool is_coming = false)
        : source_{source}, sink_{sink}, is_coming_{is_coming} {}

    [[nodiscard]] std::uint32_t block_count() const override { return source_.block_count(); }
    [[nodiscard]] std::uint64_t object_bytes() const override { return source_.object_bytes(); }
    [[nodiscard]] bool is_here(BlockIndex block) override {
        return (!is_coming_ || block.value() <= next_) && source_.is_here(block);
    }
    [[nodiscard]] Result<SourceBlock> read(BlockIndex block, MutableBytes room) override;
    [[nodiscard]] Status finish() override;
    /// True if the source's own node needs the block no more.
    [[nodiscard]] bool holds(BlockIndex block) const { return sink_.holds(block); }

  private:
    [[nodiscard]] Result<SourceBlock> from_sink(BlockIndex block, MutableBytes room, Error why);

    SizedSource& source_;
    FileSink& sink_;
    bool is_coming_;
    std::uint32_t next_ = 0;  ///< The first block that was not read yet.
};

/// For a group of one: what the sink lacks from the source, to the end. `look` is called before
/// each block, and while one is still to come; its error ends the copy.
[[nodiscard]] Status copy_alone(SourceAndSink& object, const std::function<Status()>& look);

}  // namespace stage
