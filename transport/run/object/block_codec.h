// Compresses and decompresses single blocks.
//
// It uses zstd at its fastest level, one frame for each block. Received data must decompress to
// exactly the bytes that its descriptor states, whatever the frame claims.
#pragma once

#include "transport/base/codec.h"
#include "transport/base/units.h"

#include <cstdint>
#include <memory>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace stage {

/// For one thread.
class BlockCodec {
  public:
    BlockCodec();
    ~BlockCodec();
    BlockCodec(const BlockCodec&) = delete;
    BlockCodec& operator=(const BlockCodec&) = delete;

    /// `block` compressed, valid until the next call; empty if it would not be much shorter.
    [[nodiscard]] Bytes shorten(Bytes block);
    /// Fills `block` from what shorten() returned. False for any other data.
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
