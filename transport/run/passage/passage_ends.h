// The two ends of a passage: the sink of the session that comes in, and the source of one that
// carries the object on.
#pragma once

#include "transport/run/object/sink.h"
#include "transport/run/object/source.h"
#include "transport/run/passage/passage.h"
#include "transport/settings/passage_ack.h"

namespace stage {

class PassageSink final : public BlockSink {
  public:
    /// `passage` may have blocks of an earlier leg, which broke off.
    PassageSink(Passage passage, PassageAck ack);

    [[nodiscard]] std::optional<core::ObjectShape> announced() const override {
        return core::ObjectShape{.blocks = passage_.blocks(), .object_bytes = passage_.bytes()};
    }
    /// All but the first one, which says whether the object is still the same.
    [[nodiscard]] Held held_before() const override { return held_; }
    [[nodiscard]] Result<Placing> write(BlockIndex block,
                                        Bytes bytes,
                                        const Digest128& leaf) override;
    [[nodiscard]] Status read_back(BlockIndex block,
                                   std::uint32_t offset,
                                   MutableBytes room) override;
    /// Chained it waits for the other side.
    [[nodiscard]] bool may_finish() override;
    /// Its error is the reason of the other side.
    [[nodiscard]] Status finish() override;

  private:
    Passage passage_;
    PassageAck ack_;
    [[nodiscard]] bool has_all() const {
        return blocks_ == passage_.blocks() && bytes_ == passage_.bytes();
    }

    Held held_;
    bool goes_on_ = false;      ///< After an earlier leg.
    std::uint32_t blocks_ = 0;  ///< In the passage.
    std::uint64_t bytes_ = 0;   ///< The sum of these blocks.
};

/// A block is here once all before it are.
class PassageSource final : public SizedSource {
  public:
    explicit PassageSource(Passage passage) : passage_{std::move(passage)} {}

    [[nodiscard]] std::uint32_t block_count() const override { return passage_.blocks(); }
    [[nodiscard]] std::uint64_t object_bytes() const override { return passage_.bytes(); }
    /// True also if the session that comes in has ended without the block: then read() says so.
    [[nodiscard]] bool is_here(BlockIndex block) override;
    [[nodiscard]] std::uint32_t block_length(BlockIndex block) const override {
        const auto entry = passage_.find(block);
        return entry ? entry->length : 0;
    }
    [[nodiscard]] Result<SourceBlock> read(BlockIndex block, MutableBytes room) override;
    [[nodiscard]] Status finish() override;

  private:
    Passage passage_;
    std::uint32_t here_ = 0;  ///< All blocks before it are here.
};

}  // namespace stage
