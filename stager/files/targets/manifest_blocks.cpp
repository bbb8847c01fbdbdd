#include "stager/files/targets/manifest_blocks.h"

#include "stager/files/manifest/manifest.h"

#include <algorithm>
#include <optional>
#include <string>

namespace stage {
namespace {

std::size_t blocks_of(std::size_t bytes) {
    return (bytes + kBlockBytes - 1) / kBlockBytes;
}

}  // namespace

Error malformed_object(std::string_view what) {
    return {Blame::internal, "the object does not fit its manifest: " + std::string{what}};
}

void ManifestBlocks::assign(Bytes manifest) {
    invariant(bytes_.empty(), "a manifest is expected before its blocks");
    bytes_.assign(manifest.begin(), manifest.end());
    held_.assign(blocks_of(manifest.size()), true);
}

Result<Placing> ManifestBlocks::write(BlockIndex block, Bytes bytes) {
    if (is_complete()) {
        const Status same = compare(block, bytes);
        return same ? Result<Placing>{Placing::placed} : same.error();
    }
    if (bytes_.empty()) {
        if (block != BlockIndex{0}) {
            return Placing::deferred;
        }
        const std::optional<std::size_t> length = manifest_length(bytes);
        if (!length) {
            return malformed_object("there is none");
        }
        bytes_.resize(*length);
        held_.resize(blocks_of(*length));
    }
    if (block.index() >= held_.size()) {
        return Placing::deferred;
    }
    const std::size_t begin = block.index() * kBlockBytes;
    if (bytes.size() != std::min<std::size_t>(kBlockBytes, bytes_.size() - begin)) {
        return malformed_object("a block's length");
    }
    std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(begin));
    held_[block.index()] = true;
    return Placing::placed;
}

Status ManifestBlocks::compare(BlockIndex block, Bytes bytes) const {
    const std::size_t begin = std::min(block.index() * kBlockBytes, bytes_.size());
    const Bytes rest = Bytes{bytes_}.subspan(begin);
    const Bytes held = rest.first(std::min<std::size_t>(rest.size(), kBlockBytes));
    return std::ranges::equal(bytes, held)
               ? Status{}
               : Status{malformed_object("another one was offered")};
}

bool ManifestBlocks::is_complete() const {
    return !held_.empty() && std::ranges::find(held_, false) == held_.end();
}

bool ManifestBlocks::holds(BlockIndex block) const {
    return block.index() < held_.size() && held_[block.index()];
}

Status ManifestBlocks::read_back(BlockIndex block,
                                 std::uint32_t offset,
                                 MutableBytes room) const {
    const std::size_t begin = block.index() * kBlockBytes + offset;
    if (room.size() > bytes_.size() - std::min(begin, bytes_.size())) {
        return Error{Blame::internal, "this block is not held here"};
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(begin), room.size(), room.begin());
    return {};
}

}  // namespace stage
