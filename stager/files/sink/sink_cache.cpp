// What does a sink hold before the first block comes, and what of it may others have later?
#include "stager/disk/disk_io.h"
#include "stager/disk/spare_room.h"
#include "stager/files/sink/file_sink.h"

#include <sys/stat.h>

#include <algorithm>

namespace stage {
namespace {

/// A longer one would be cloned with what is behind.
bool has_size(int file, std::uint64_t size) {
    struct stat status {};
    return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
           static_cast<std::uint64_t>(status.st_size) == size;
}

}  // namespace

Status FileSink::fill(const Cached& cached) {
    invariant(manifest_.has_value(), "what is to come is known before it is looked for");
    for (std::size_t index = 0; index < places_.size(); ++index) {
        const auto content = content_of_bytes(manifest_->entries[index].content);
        const Target* target = use(index);
        if (!content || target == nullptr) {
            continue;
        }
        const bool is_compared = target->is_compared();
        UniqueFd file = is_compared ? UniqueFd{} : cached.find(*content);
        if (!is_compared && !file) {
            continue;
        }
        if (Status filled = fill_whole(index, std::move(file), *content, cached); !filled) {
            return filled;
        }
    }
    return {};
}

/// From what stands there, or from `file`: one that is something else is said to be spoilt.
Status FileSink::fill_whole(std::size_t index,
                            UniqueFd file,
                            const Content& content,
                            const Cached& cached) {
    const bool is_compared = places_[index].target->is_compared();
    Result<bool> filled =
        is_compared || has_size(file.get(), manifest_->entries[index].kept_bytes())
            ? fill_from(index, std::move(file), content.sum, cached.check)
            : Result<bool>{false};
    if (!filled) {
        return std::move(filled).error();
    }
    if (!*filled && !is_compared) {
        cached.spoilt(content);
    }
    return {};
}

std::vector<core::BlockRun> FileSink::held_runs() const {
    std::vector<core::BlockRun> runs;
    if (!manifest_ || bytes_held_ == 0) {
        return runs;
    }
    runs.push_back({.first = BlockIndex{0}, .count = first_file_block_});
    for (std::uint32_t i = 0; i < held_.size(); ++i) {
        const std::uint32_t block = first_file_block_ + i;
        if (held_[i] && runs.back().first.value() + runs.back().count == block) {
            ++runs.back().count;
        } else if (held_[i]) {
            runs.push_back({.first = BlockIndex{block}, .count = 1});
        }
    }
    return runs;
}

/// From what stands there, or from `file`. False: it is something else, and nothing is held.
/// What is adopted is so after the last byte of it was compared: who uses it begins at once.
Result<bool> FileSink::fill_from(std::size_t index,
                                 UniqueFd file,
                                 const Digest128& sum,
                                 const std::function<Status()>& check) {
    const ManifestEntry& entry = manifest_->entries[index];
    Target& target = *places_[index].target;
    const bool is_there = target.is_compared() || target.clone(file.get());
    const UniqueFd own = is_there ? target.reading() : UniqueFd{};
    const bool is_held = own || target.is_adopting();
    std::optional<Digest128> index_end;
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t i = 0; i < entry.block_count(); ++i) {
        if (Status on = check(); !on) {
            return std::move(on).error();
        }
        const BlockIndex block{entry.first_block.value() + i};
        const BlockPlace place = *find_block(*manifest_, block);
        const MutableBytes bytes = MutableBytes{room}.first(place.length);
        const std::uint64_t at = std::uint64_t{i} * kBlockBytes;  // (As a file it is kept.)
        if (read_fully(own ? own.get() : file.get(), bytes, at) !=
            static_cast<std::int64_t>(place.length)) {
            hold_nothing_of(entry);
            return false;
        }
        const Digest128 leaf = xxh3_128(bytes);
        if (const auto kept = leaf_as_kept(entry, i, bytes.size(), room)) {
            index_end = kept;
        }
        if (is_held) {
            hold(block, place, leaf);
        } else if (auto written = write_file_block(block, bytes, leaf); !written) {
            return std::move(written).error();
        }
    }
    if (sum_of_entry(entry, index_end) != sum) {
        hold_nothing_of(entry);
        return false;
    }
    if (!places_[index].target) {
        return true;  // An optional file, which was given up.
    }
    if (target.is_adopting()) {
        target.adopt(std::move(file));
    }
    bytes_filled_ += entry.size;
    places_[index].is_filled = true;
    return true;
}

std::optional<Digest128> FileSink::read_filled(BlockIndex block, MutableBytes room) {
    const auto place = manifest_ ? find_block(*manifest_, block) : std::nullopt;
    if (!place || !places_[place->entry].is_filled) {
        return std::nullopt;
    }
    const MutableBytes bytes = room.first(place->length);
    const Digest128 leaf = leaves_[block.index() - first_file_block_];
    const bool is_same = read_back(block, 0, bytes).ok() && xxh3_128(bytes) == leaf;
    return is_same ? std::optional{leaf} : std::nullopt;
}

void FileSink::hold_nothing_of(const ManifestEntry& entry) {
    for (std::uint32_t i = 0; i < entry.block_count(); ++i) {
        const BlockIndex block{entry.first_block.value() + i};
        const std::size_t index = block.index() - first_file_block_;
        if (held_[index]) {
            held_[index] = false;
            ++missing_;
            bytes_held_ -= find_block(*manifest_, block)->length;
        }
    }
}

std::optional<Digest128> FileSink::leaf_as_kept(const ManifestEntry& entry,
                                                std::uint32_t number,
                                                std::size_t length,
                                                MutableBytes room) {
    if (number + 1 != entry.index_blocks()) {
        return std::nullopt;
    }
    std::ranges::fill(room.subspan(length), std::byte{0});
    return xxh3_128(room);
}

/// `index_end`: of a tree, the leaf of its index's last block as that is kept.
Digest128 FileSink::sum_of_entry(const ManifestEntry& entry,
                                 const std::optional<Digest128>& index_end) const {
    const auto first = leaves_.begin() + static_cast<std::ptrdiff_t>(entry.first_block.index() -
                                                                     first_file_block_);
    std::vector<Digest128> leaves{first,
                                  first + static_cast<std::ptrdiff_t>(entry.block_count())};
    if (index_end) {
        leaves[entry.index_blocks() - 1] = *index_end;
    }
    return sum_of(leaves);
}

std::vector<FileSink::CacheCandidate> FileSink::keepsakes(std::size_t most) const {
    std::vector<CacheCandidate> all;
    for (std::size_t index = 0; index < places_.size() && all.size() < most; ++index) {
        const ManifestEntry& entry = manifest_->entries[index];
        const auto stamp = entry.stamp_if_any();
        const Target* target = use(index);
        if (!stamp || target == nullptr || entry.is_tree()) {
            continue;
        }
        UniqueFd file = target->reading();
        // (The job has no use for an archive, and till it is copied it takes room.)
        const bool is_spare = target->is_adopting();
        if (file && (!is_spare || has_spare_room(file.get(), entry.size))) {
            all.push_back({.stamp = *stamp,
                           .sum = sum_of_entry(entry, std::nullopt),
                           .bytes = entry.size,
                           .file = std::move(file)});
        }
    }
    return all;
}

}  // namespace stage
