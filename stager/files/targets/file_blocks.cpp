#include "stager/files/targets/file_blocks.h"

#include "stager/files/targets/manifest_blocks.h"

#include <optional>

namespace stage {

Result<Placing> FileBlocks::write(BlockIndex block, Bytes bytes, const Digest128& leaf) {
    const std::optional<BlockPlace> place = find_block(manifest_, block);
    if (!place || bytes.size() != place->length) {
        return malformed_object(place ? "a block's length" : "a block beyond its end");
    }
    Target* target = targets_.use(place->entry);
    if (held_.holds(block)) {
        return target != nullptr ? Placing::placed : Placing::discarded;
    }
    Result<Placing> placing =
        target != nullptr ? target->write(place->offset, bytes) : Placing::discarded;
    if (!placing) {
        TRY(targets_.give_up(place->entry, std::move(placing).error()));
        placing = Placing::discarded;
    }
    if (*placing == Placing::deferred) {
        return placing;
    }
    if (target != nullptr && *placing == Placing::placed) {
        target->note(place->offset, leaf);
    }
    hold(block, *place, leaf);
    return placing;
}

Status FileBlocks::read_back(BlockIndex block, std::uint32_t offset, MutableBytes room) const {
    const std::optional<BlockPlace> place = find_block(manifest_, block);
    if (!place || !held_.holds(block) || !targets_[place->entry].target ||
        std::uint64_t{offset} + room.size() > place->length) {
        return Error{Blame::internal, "this block is not held here"};
    }
    return targets_.use(place->entry)->read_back(place->offset + offset, room);
}

}  // namespace stage
