#include "transport/core/source/source_blocks.h"

#include <algorithm>

namespace stage::core {

SourceBlocks::SourceBlocks(const CoreConfig& config,
                           const ObjectShape& shape,
                           const Limits& limits)
    : cut_{config.chunk_bytes},
      blocks_{shape.blocks},
      pool_{config.resident_blocks},
      descriptors_{
          shape.blocks, std::max(limits.source_descriptors_max, config.resident_blocks), pool_},
      pass_{config, shape, limits, descriptors_.recent(), pool_} {
}

Result<std::uint64_t> SourceBlocks::on_loaded(const Completion& done) {
    const bool is_first = !descriptors_.was_read(done.block);
    if (done.verdict == Verdict::bad_digest || done.descriptor.length == 0 ||
        !descriptors_.on_read(done.block, done.descriptor)) {
        return Error{Blame::user, "what is staged changed while it was read"};
    }
    if (!is_first) {
        pool_.settle(done.block);
        return std::uint64_t{0};
    }
    pass_.on_loaded(done.block);
    return std::uint64_t{done.descriptor.length};
}

std::vector<std::byte> SourceBlocks::describe_progress() const {
    const std::uint32_t block = std::min(pass_.cursor().block, blocks_ - 1);
    auto body = descriptors_.describe(BlockIndex{block}, 1);
    if (body.empty() && block > 0) {
        body = descriptors_.describe(BlockIndex{block - 1}, 1);
    }
    return body;
}

SourceBlocks::Whole SourceBlocks::whole() const {
    Whole whole;
    for (std::uint32_t block = 0; block < blocks_; ++block) {
        const auto count = static_cast<std::uint16_t>(chunks(BlockIndex{block}));
        if (count > 0) {
            whole.runs.push_back({.block = BlockIndex{block}, .first = 0, .count = count});
            whole.chunks += count;
        }
    }
    return whole;
}

bool SourceBlocks::has(BlockIndex block, std::uint32_t chunk) const {
    if (chunk >= chunks(block)) {
        return false;
    }
    const bool is_in_pass = block.value() >= pass_.cursor().block && pass_.has_loaded(block);
    return pool_.is_clean(block) || is_in_pass;
}

bool SourceBlocks::can_load(BlockIndex block) const {
    return block.value() < pass_.cursor().block && !pool_.contains(block) && chunks(block) > 0;
}

std::uint32_t SourceBlocks::chunks(BlockIndex block) const {
    if (const wire::Descriptor* const known = descriptors_.find(block)) {
        return cut_.chunks(known->wire_length);
    }
    // At most; how many is known again when it was read again.
    return descriptors_.was_read(block) ? cut_.chunks_max() : 0;
}

std::vector<std::byte> SourceBlocks::describe(BlockIndex block, std::uint32_t count) const {
    return descriptors_.describe(block, count);
}

BlockIndex first_block_to_read(const CoreConfig& config, const ObjectShape& shape) {
    if (config.holds_already) {
        return BlockIndex{shape.blocks};
    }
    const bool has_first =
        !config.held_before.empty() && config.held_before.front().first == BlockIndex{0};
    return BlockIndex{has_first ? std::min(config.held_before.front().count, shape.blocks) : 0};
}

}  // namespace stage::core
