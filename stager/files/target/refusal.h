// Lets a member that cannot begin tell the other members why.
//
// It takes part with a source or a sink whose first block is the error. So the group ends at
// once with this member's message, rather than by a time-out without one.
#pragma once

#include "transport/run/object/sink.h"
#include "transport/run/object/source.h"

namespace stage {

class RefusingSource final : public BlockSource {
  public:
    explicit RefusingSource(Error why) : why_{std::move(why)} {}

    [[nodiscard]] std::uint32_t block_count() const override { return 1; }
    [[nodiscard]] std::uint64_t object_bytes() const override { return 1; }
    [[nodiscard]] Result<SourceBlock> read(BlockIndex /*block*/,
                                           MutableBytes /*room*/) override {
        return why_;
    }
    [[nodiscard]] Status finish() override { return why_; }

  private:
    Error why_;
};

class RefusingSink final : public BlockSink {
  public:
    explicit RefusingSink(Error why) : why_{std::move(why)} {}

    [[nodiscard]] Result<Placing> write(BlockIndex /*block*/,
                                        Bytes /*bytes*/,
                                        const Digest128& /*leaf*/) override {
        return why_;
    }
    [[nodiscard]] Status read_back(BlockIndex /*block*/,
                                   std::uint32_t /*offset*/,
                                   MutableBytes /*room*/) override {
        return why_;
    }
    [[nodiscard]] Status finish() override { return why_; }

  private:
    Error why_;
};

}  // namespace stage
