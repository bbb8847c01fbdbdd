// How is a block made shorter for its way, and whole again?
//
// By zstd at its fastest level, as one frame. What comes from others must give exactly the
// bytes that its descriptor says, whatever it claims itself.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/units.h"

#include <cstdint>
#include <memory>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace stage {

/// One thread's.
class BlockCodec {
  public:
    BlockCodec();
    ~BlockCodec();
    BlockCodec(const BlockCodec&) = delete;
    BlockCodec& operator=(const BlockCodec&) = delete;

    /// `block` made shorter, good until the next call; empty if it would not be much shorter.
    [[nodiscard]] Bytes shorten(Bytes block);
    /// Fills `block` from what shorten() gave. False if it is anything else.
    [[nodiscard]] bool restore(Bytes shorter, MutableBytes block);

  private:
    struct Free {
        void operator()(ZSTD_CCtx_s* one) const;
        void operator()(ZSTD_DCtx_s* one) const;
    };

    std::unique_ptr<ZSTD_CCtx_s, Free> shortening_;
    std::unique_ptr<ZSTD_DCtx_s, Free> restoring_;
    std::vector<std::byte> room_;
};

}  // namespace stage
