#include "transport/run/object/block_codec.h"

#include <zstd.h>

namespace stage {
namespace {

constexpr int kLevel = 1;

/// Saving less than this is not worth the time.
bool is_much_shorter(std::size_t bytes, std::size_t block) {
    return bytes <= block - block / 16;
}

}  // namespace

void BlockCodec::Free::operator()(ZSTD_CCtx_s* one) const {
    static_cast<void>(ZSTD_freeCCtx(one));
}

void BlockCodec::Free::operator()(ZSTD_DCtx_s* one) const {
    static_cast<void>(ZSTD_freeDCtx(one));
}

BlockCodec::BlockCodec() = default;
BlockCodec::~BlockCodec() = default;

Bytes BlockCodec::shorten(Bytes block) {
    if (!shortening_) {
        shortening_.reset(ZSTD_createCCtx());
        room_.resize(kBlockBytes);
    }
    const std::size_t count = ZSTD_compressCCtx(
        shortening_.get(), room_.data(), room_.size(), block.data(), block.size(), kLevel);
    const bool is_worth = ZSTD_isError(count) == 0 && is_much_shorter(count, block.size());
    return is_worth ? Bytes{room_}.first(count) : Bytes{};
}

bool BlockCodec::restore(Bytes shorter, MutableBytes block) {
    if (!restoring_) {
        restoring_.reset(ZSTD_createDCtx());
    }
    const std::size_t count = ZSTD_decompressDCtx(
        restoring_.get(), block.data(), block.size(), shorter.data(), shorter.size());
    return ZSTD_isError(count) == 0 && count == block.size();
}

}  // namespace stage
