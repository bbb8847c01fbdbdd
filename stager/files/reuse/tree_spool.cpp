#include "stager/files/reuse/tree_spool.h"

#include "stager/disk/disk_io.h"
#include "stager/disk/drop_behind.h"
#include "stager/disk/spare_room.h"
#include "stager/files/reuse/kept_form.h"

#include <fcntl.h>

#include <string>
#include <utility>
#include <vector>

namespace stage {
namespace {

/// Without a name; nothing where the disk hasn't as much again for the tree's user.
UniqueFd make_spool(int directory, std::uint64_t bytes) {
    UniqueFd file{::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    const bool has_room = file && has_spare_room(file.get(), bytes);
    return has_room ? std::move(file) : UniqueFd{};
}

UniqueFd for_reading(const UniqueFd& file) {
    const std::string self = "/proc/self/fd/" + std::to_string(file.get());
    return UniqueFd{::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
}

}  // namespace

std::optional<CacheCandidate> spool_tree(const Manifest& manifest,
                                         std::size_t index,
                                         Target& tree,
                                         const HeldBlocks& held,
                                         const std::function<bool()>& may_go_on) {
    const ManifestEntry& entry = manifest.entries[index];
    const auto stamp = entry.stamp_if_any();
    if (!entry.is_tree() || !stamp || tree.is_left()) {
        return std::nullopt;
    }
    const UniqueFd file = make_spool(tree.directory().fd.get(), entry.kept_bytes());
    std::optional<Digest128> index_end;
    DropBehind behind{0};
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t i = 0; file && i < entry.block_count(); ++i) {
        const BlockIndex block{entry.first_block.value() + i};
        const BlockPlace place = *find_block(manifest, block);
        const MutableBytes bytes = MutableBytes{room}.first(place.length);
        // The tree's user may have begun to work in it.
        if (!may_go_on() || !tree.read_back(place.offset, bytes) ||
            xxh3_128(bytes) != held.leaf(block)) {
            return std::nullopt;
        }
        const auto padded = leaf_as_kept(entry, i, bytes.size(), room);
        index_end = padded ? padded : index_end;
        const Bytes kept = padded ? Bytes{room} : Bytes{bytes};
        const std::uint64_t at = std::uint64_t{i} * kBlockBytes;
        if (!write_fully(file.get(), kept, at)) {
            return std::nullopt;
        }
        behind.wrote(file.get(), at, kept.size());
    }
    UniqueFd reading = file ? for_reading(file) : UniqueFd{};
    return reading ? std::optional{CacheCandidate{
                         .stamp = *stamp,
                         .sum = sum_as_kept(entry, held.leaves_of(entry), index_end),
                         .bytes = entry.kept_bytes(),
                         .file = std::move(reading)}}
                   : std::nullopt;
}

}  // namespace stage
