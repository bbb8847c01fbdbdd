// How does a tree that was staged become one file again, for the node's cache?
#include "stager/disk/disk_io.h"
#include "stager/disk/drop_behind.h"
#include "stager/disk/spare_room.h"
#include "stager/files/sink/file_sink.h"

#include <fcntl.h>

#include <algorithm>
#include <string>

namespace stage {
namespace {

/// Without a name; nothing where the disk hasn't as much again for whoever has the tree.
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

std::optional<FileSink::CacheCandidate> FileSink::spooled(
    std::size_t index, const std::function<bool()>& may_go_on) const {
    const ManifestEntry& entry = manifest_->entries[index];
    const auto stamp = entry.stamp_if_any();
    Target* target = places_[index].target.get();
    if (!entry.is_tree() || !stamp || target == nullptr || target->is_left() ||
        places_[index].is_filled) {
        return std::nullopt;
    }
    const UniqueFd file = make_spool(target->directory().fd.get(), entry.kept_bytes());
    std::optional<Digest128> index_end;
    DropBehind behind{0};
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t i = 0; file && i < entry.block_count(); ++i) {
        const BlockIndex block{entry.first_block.value() + i};
        const BlockPlace place = *find_block(*manifest_, block);
        const MutableBytes bytes = MutableBytes{room}.first(place.length);
        // Whoever has the tree may have begun to work in it.
        if (!may_go_on() || !target->read_back(place.offset, bytes) ||
            xxh3_128(bytes) != leaves_[block.index() - first_file_block_]) {
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
    return reading ? std::optional{CacheCandidate{.stamp = *stamp,
                                                  .sum = sum_of_entry(entry, index_end),
                                                  .bytes = entry.kept_bytes(),
                                                  .file = std::move(reading)}}
                   : std::nullopt;
}

}  // namespace stage
