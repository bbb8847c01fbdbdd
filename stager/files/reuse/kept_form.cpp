#include "stager/files/reuse/kept_form.h"

#include "stager/content/content.h"

#include <algorithm>

namespace stage {

std::optional<Digest128> leaf_as_kept(const ManifestEntry& entry,
                                      std::uint32_t number,
                                      std::size_t length,
                                      MutableBytes room) {
    if (number + 1 != entry.index_blocks()) {
        return std::nullopt;
    }
    std::ranges::fill(room.subspan(length), std::byte{0});
    return xxh3_128(room);
}

Digest128 sum_as_kept(const ManifestEntry& entry,
                      std::vector<Digest128> leaves,
                      const std::optional<Digest128>& index_end) {
    if (index_end) {
        leaves[entry.index_blocks() - 1] = *index_end;
    }
    return sum_of(leaves);
}

}  // namespace stage
