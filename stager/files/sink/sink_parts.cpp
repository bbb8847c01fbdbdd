// What of a file came before its stage was broken off, and what if this one is?
#include "stager/content/part_note.h"
#include "stager/disk/disk_io.h"
#include "stager/files/sink/file_sink.h"

namespace stage {

Status FileSink::take_up(const std::function<Status()>& check) {
    invariant(manifest_.has_value(), "what is to come is known before it is looked for");
    for (std::size_t index = 0; index < places_.size(); ++index) {
        const Target* target = use(index);
        const auto noted = target != nullptr ? target->noted() : std::vector<Digest128>{};
        const BlockIndex first = manifest_->entries[index].first_block;
        if (Status taken = take_up_noted(first, noted, check); !taken) {
            return taken;
        }
    }
    return {};
}

Status FileSink::take_up_noted(BlockIndex first,
                               std::span<const Digest128> noted,
                               const std::function<Status()>& check) {
    for (std::uint32_t i = 0; i < noted.size(); ++i) {
        if (Status on = check(); !on) {
            return on;
        }
        if (noted[i] != Digest128{}) {
            take_up_block(first.value() + i, noted[i]);
        }
    }
    return {};
}

/// Of what was noted only that counts which is still so.
void FileSink::take_up_block(std::uint32_t number, const Digest128& leaf) {
    const BlockIndex block{number};
    const auto place = find_block(*manifest_, block);
    if (!place || held_[block.index() - first_file_block_]) {
        return;
    }
    room_.resize(kBlockBytes);
    const MutableBytes bytes = MutableBytes{room_}.first(place->length);
    if (use(place->entry)->read_back(place->offset, bytes).ok() && xxh3_128(bytes) == leaf) {
        hold(block, *place, leaf);
        bytes_filled_ += place->length;
    }
}

Status FileSink::take_up_from(const PriorCopies& earliers, const Cached& cached) {
    invariant(manifest_.has_value(), "what is to come is known before it is looked for");
    for (std::size_t index = 0; index < places_.size() && earliers.has_time(); ++index) {
        const Target* target = use(index);
        const auto stamp = manifest_->entries[index].stamp_if_any();
        const bool is_wanted =
            target != nullptr && target->is_noted() && stamp && !places_[index].is_filled;
        PriorCopy earlier = is_wanted ? earliers.find(*stamp) : PriorCopy{};
        if (!earlier.file) {
            continue;
        }
        Status taken = earlier.whole
                           ? take_up_whole(index, std::move(earlier), earliers.has_time, cached)
                           : take_up_part(index, earlier.file.get(), earliers.has_time, cached);
        if (!taken) {
            return taken;
        }
    }
    return {};
}

/// In time, or nothing of it.
Status FileSink::take_up_whole(std::size_t index,
                               PriorCopy earlier,
                               const std::function<bool()>& has_time,
                               const Cached& cached) {
    bool is_late = false;
    const auto check = [&]() -> Status {
        is_late = !has_time();
        return is_late ? Status{Error{Blame::internal, "this takes too long"}} : cached.check();
    };
    Status filled = fill_whole(index,
                               std::move(earlier.file),
                               *earlier.whole,
                               {.find = cached.find, .spoilt = cached.spoilt, .check = check});
    if (!is_late) {
        return filled;
    }
    hold_nothing_of(manifest_->entries[index]);
    return {};
}

/// What has no note of this very file is none of it.
Status FileSink::take_up_part(std::size_t index,
                              int part,
                              const std::function<bool()>& has_time,
                              const Cached& cached) {
    const ManifestEntry& entry = manifest_->entries[index];
    const auto noted = read_note(part, *entry.stamp_if_any(), entry.size);
    for (std::uint32_t i = 0; noted && i < noted->size() && has_time(); ++i) {
        if (Status on = cached.check(); !on) {
            return on;
        }
        const BlockIndex block{entry.first_block.value() + i};
        Status taken = (*noted)[i] != Digest128{} && !holds(block)
                           ? take_up_part_block(block, part, (*noted)[i])
                           : Status{};
        if (!taken) {
            return taken;
        }
    }
    return {};
}

Status FileSink::take_up_part_block(BlockIndex block, int part, const Digest128& leaf) {
    const BlockPlace place = *find_block(*manifest_, block);
    room_.resize(kBlockBytes);
    const MutableBytes bytes = MutableBytes{room_}.first(place.length);
    const bool is_right =
        read_fully(part, bytes, place.offset) == static_cast<std::int64_t>(place.length) &&
        xxh3_128(bytes) == leaf;
    if (is_right) {
        if (auto written = write_file_block(block, bytes, leaf); !written) {
            return std::move(written).error();
        }
        bytes_filled_ += place.length;
    }
    return {};
}

std::vector<FileSink::Begun> FileSink::begun(std::size_t most) const {
    std::vector<Begun> all;
    for (std::size_t index = 0; index < places_.size() && all.size() < most; ++index) {
        const Target* target = use(index);
        if (target == nullptr || !target->is_noted() || places_[index].is_filled) {
            continue;
        }
        const ManifestEntry& entry = manifest_->entries[index];
        if (UniqueFd file = target->reading()) {
            all.push_back(
                {.stamp = *entry.stamp_if_any(), .bytes = entry.size, .file = std::move(file)});
        }
    }
    return all;
}

bool FileSink::holds(BlockIndex block) const {
    return manifest_ && block.value() >= first_file_block_ &&
           block.index() - first_file_block_ < held_.size() &&
           held_[block.index() - first_file_block_];
}

}  // namespace stage
