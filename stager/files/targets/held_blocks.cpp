#include "stager/files/targets/held_blocks.h"

#include "stager/files/manifest/digest.h"

namespace stage {

HeldBlocks::HeldBlocks(const Manifest& manifest)
    : manifest_{manifest},
      first_{manifest.own_block_count()},
      leaves_(manifest.block_count() - first_),
      held_(leaves_.size()),
      missing_{leaves_.size()} {
}

void HeldBlocks::hold(BlockIndex block, std::uint32_t length, const Digest128& leaf) {
    const std::size_t index = place_of(block);
    held_[index] = true;
    leaves_[index] = leaf;
    --missing_;
    bytes_ += length;
}

void HeldBlocks::drop(const ManifestEntry& entry) {
    for (std::uint32_t i = 0; i < entry.block_count(); ++i) {
        const BlockIndex block{entry.first_block.value() + i};
        if (holds(block)) {
            held_[place_of(block)] = false;
            ++missing_;
            bytes_ -= find_block(manifest_, block)->length;
        }
    }
}

bool HeldBlocks::holds(BlockIndex block) const {
    return block.value() >= first_ && place_of(block) < held_.size() && held_[place_of(block)];
}

std::vector<core::BlockRun> HeldBlocks::runs() const {
    std::vector<core::BlockRun> runs;
    if (bytes_ == 0) {
        return runs;
    }
    runs.push_back({.first = BlockIndex{0}, .count = first_});
    for (std::uint32_t i = 0; i < held_.size(); ++i) {
        const std::uint32_t block = first_ + i;
        if (held_[i] && runs.back().first.value() + runs.back().count == block) {
            ++runs.back().count;
        } else if (held_[i]) {
            runs.push_back({.first = BlockIndex{block}, .count = 1});
        }
    }
    return runs;
}

const Digest128& HeldBlocks::leaf(BlockIndex block) const {
    return leaves_[place_of(block)];
}

std::vector<Digest128> HeldBlocks::leaves_of(const ManifestEntry& entry) const {
    const auto first =
        leaves_.begin() + static_cast<std::ptrdiff_t>(place_of(entry.first_block));
    return {first, first + static_cast<std::ptrdiff_t>(entry.block_count())};
}

std::string HeldBlocks::digest() const {
    return digest_of(leaves_);
}

}  // namespace stage
