#include "stager/files/reuse/local_fill.h"

#include "stager/content/part_note.h"
#include "stager/disk/disk_io.h"
#include "stager/files/reuse/kept_form.h"

namespace stage {

Status LocalFill::fill(const CacheAccess& cache) {
    for (std::size_t index = 0; index < targets_.size(); ++index) {
        const auto content = content_of_bytes(manifest_.entries[index].content);
        const Target* target = targets_.use(index);
        if (!content || target == nullptr) {
            continue;
        }
        const bool is_compared = target->is_compared();
        UniqueFd file = is_compared ? UniqueFd{} : cache.find(*content);
        if (!is_compared && !file) {
            continue;
        }
        if (Status filled = fill_whole(index, std::move(file), *content, cache); !filled) {
            return filled;
        }
    }
    return {};
}

/// From what stands there, or from `file`: one that is something else is said to be spoilt.
Status LocalFill::fill_whole(std::size_t index,
                             UniqueFd file,
                             const Content& content,
                             const CacheAccess& cache) {
    const bool is_compared = targets_[index].target->is_compared();
    // A longer file would be cloned with what is behind its end.
    TRY(auto filled,
        is_compared || has_size(file.get(), manifest_.entries[index].kept_bytes())
            ? fill_from(index, std::move(file), content.sum, cache.check)
            : Result<bool>{false});
    if (!filled && !is_compared) {
        cache.spoilt(content);
    }
    return {};
}

/// From what stands there, or from `file`. False: it is something else, and nothing is held.
/// What is adopted is so after the last byte of it was compared: its user begins at once.
Result<bool> LocalFill::fill_from(std::size_t index,
                                  UniqueFd file,
                                  const Digest128& sum,
                                  const std::function<Status()>& check) {
    const ManifestEntry& entry = manifest_.entries[index];
    TRY(const auto copied, copy_blocks(index, file.get(), check));
    if (copied != sum) {
        blocks_.drop(entry);
        return false;
    }
    Target* target = targets_[index].target.get();
    if (target == nullptr) {
        return true;  // An optional file, which was given up.
    }
    if (target->is_adopting()) {
        target->adopt(std::move(file));
    }
    bytes_ += entry.size;
    filled_[index] = true;
    return true;
}

/// Gives the sum of what was copied; nothing if that is shorter than the entry.
Result<std::optional<Digest128>> LocalFill::copy_blocks(std::size_t index,
                                                        int file,
                                                        const std::function<Status()>& check) {
    const ManifestEntry& entry = manifest_.entries[index];
    Target& target = *targets_[index].target;  // (May be given up below, by write().)
    const bool is_there = target.is_compared() || target.clone(file);
    const UniqueFd own = is_there ? target.reading() : UniqueFd{};
    const bool is_held = own || target.is_adopting();
    std::optional<Digest128> index_end;
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t i = 0; i < entry.block_count(); ++i) {
        TRY(check());
        const BlockIndex block{entry.first_block.value() + i};
        const BlockPlace place = *find_block(manifest_, block);
        const MutableBytes bytes = MutableBytes{room}.first(place.length);
        const std::uint64_t at = std::uint64_t{i} * kBlockBytes;  // (As a file it is kept.)
        if (read_fully(own ? own.get() : file, bytes, at) !=
            static_cast<std::int64_t>(place.length)) {
            return std::optional<Digest128>{};
        }
        const Digest128 leaf = xxh3_128(bytes);
        if (const auto kept = leaf_as_kept(entry, i, bytes.size(), room)) {
            index_end = kept;
        }
        if (is_held) {
            blocks_.hold(block, place, leaf);
        } else if (auto written = blocks_.write(block, bytes, leaf); !written) {
            return std::move(written).error();
        }
    }
    return std::optional{sum_as_kept(entry, blocks_.held().leaves_of(entry), index_end)};
}

std::optional<Digest128> LocalFill::read(BlockIndex block, MutableBytes room) const {
    const auto place = find_block(manifest_, block);
    if (!place || !filled_[place->entry]) {
        return std::nullopt;
    }
    const MutableBytes bytes = room.first(place->length);
    const Digest128 leaf = blocks_.held().leaf(block);
    const bool is_same = blocks_.read_back(block, 0, bytes).ok() && xxh3_128(bytes) == leaf;
    return is_same ? std::optional{leaf} : std::nullopt;
}

Status LocalFill::resume(const std::function<Status()>& check) {
    for (std::size_t index = 0; index < targets_.size(); ++index) {
        const Target* target = targets_.use(index);
        const auto noted = target != nullptr ? target->noted() : std::vector<Digest128>{};
        const BlockIndex first = manifest_.entries[index].first_block;
        if (Status resumed = resume_noted(first, noted, check); !resumed) {
            return resumed;
        }
    }
    return {};
}

Status LocalFill::resume_noted(BlockIndex first,
                               std::span<const Digest128> noted,
                               const std::function<Status()>& check) {
    for (std::uint32_t i = 0; i < noted.size(); ++i) {
        if (Status on = check(); !on) {
            return on;
        }
        if (noted[i] != Digest128{}) {
            resume_block(first.value() + i, noted[i]);
        }
    }
    return {};
}

/// What was noted counts only as far as it is still so.
void LocalFill::resume_block(std::uint32_t number, const Digest128& leaf) {
    const BlockIndex block{number};
    const auto place = find_block(manifest_, block);
    if (!place || blocks_.held().holds(block)) {
        return;
    }
    room_.resize(kBlockBytes);
    const MutableBytes bytes = MutableBytes{room_}.first(place->length);
    if (targets_.use(place->entry)->read_back(place->offset, bytes).ok() &&
        xxh3_128(bytes) == leaf) {
        blocks_.hold(block, *place, leaf);
        bytes_ += place->length;
    }
}

Status LocalFill::resume_from(const PriorCopies& prior, const CacheAccess& cache) {
    for (std::size_t index = 0; index < targets_.size() && prior.has_time(); ++index) {
        const Target* target = targets_.use(index);
        const auto stamp = manifest_.entries[index].stamp_if_any();
        const bool is_wanted =
            target != nullptr && target->is_noted() && stamp && !filled_[index];
        PriorCopy copy = is_wanted ? prior.find(*stamp) : PriorCopy{};
        if (!copy.file) {
            continue;
        }
        Status resumed = copy.whole
                             ? resume_whole(index, std::move(copy), prior.has_time, cache)
                             : resume_part(index, copy.file.get(), prior.has_time, cache);
        if (!resumed) {
            return resumed;
        }
    }
    return {};
}

/// In time, or nothing of it.
Status LocalFill::resume_whole(std::size_t index,
                               PriorCopy prior,
                               const std::function<bool()>& has_time,
                               const CacheAccess& cache) {
    bool is_late = false;
    const auto check = [&]() -> Status {
        is_late = !has_time();
        return is_late ? Status{Error{Blame::internal, "this takes too long"}} : cache.check();
    };
    Status filled = fill_whole(index,
                               std::move(prior.file),
                               *prior.whole,
                               {.find = cache.find, .spoilt = cache.spoilt, .check = check});
    if (!is_late) {
        return filled;
    }
    blocks_.drop(manifest_.entries[index]);
    return {};
}

/// What has no note of this very file is none of it.
Status LocalFill::resume_part(std::size_t index,
                              int part,
                              const std::function<bool()>& has_time,
                              const CacheAccess& cache) {
    const ManifestEntry& entry = manifest_.entries[index];
    const auto noted = read_note(part, *entry.stamp_if_any(), entry.size);
    for (std::uint32_t i = 0; noted && i < noted->size() && has_time(); ++i) {
        if (Status on = cache.check(); !on) {
            return on;
        }
        const BlockIndex block{entry.first_block.value() + i};
        Status resumed = (*noted)[i] != Digest128{} && !blocks_.held().holds(block)
                             ? resume_part_block(block, part, (*noted)[i])
                             : Status{};
        if (!resumed) {
            return resumed;
        }
    }
    return {};
}

Status LocalFill::resume_part_block(BlockIndex block, int part, const Digest128& leaf) {
    const BlockPlace place = *find_block(manifest_, block);
    room_.resize(kBlockBytes);
    const MutableBytes bytes = MutableBytes{room_}.first(place.length);
    const bool is_right =
        read_fully(part, bytes, place.offset) == static_cast<std::int64_t>(place.length) &&
        xxh3_128(bytes) == leaf;
    if (is_right) {
        TRY(blocks_.write(block, bytes, leaf));
        bytes_ += place.length;
    }
    return {};
}

}  // namespace stage
