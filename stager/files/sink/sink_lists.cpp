// What of a sink's files lies outside of the stage's directory, and what the node's daemon is
// to know of it.
#include "stager/files/sink/file_sink.h"
#include "stager/removal/cleanup_entry.h"
#include "stager/removal/stage_lists.h"

namespace stage {

/// Before anything is made: the names that it has until it is whole, and what stands in its
/// place already and is used.
Status FileSink::tell_begun() const {
    std::vector<std::string> entries;
    for (std::size_t index = 0; index < places_.size(); ++index) {
        const Place& place = places_[index];
        if (!place.target || !place.is_outside) {
            continue;
        }
        entries.push_back(use_entry(path(index)));
        if (place.is_temporary && place.target->directory().made) {
            // All of it goes, with what the job puts there.
            if (Status awake = use(index)->wake(); !awake) {
                return awake;
            }
            const std::string directory = path(index).substr(0, path(index).rfind('/') + 1);
            entries.push_back(removal_entry(directory, place.target->directory().fd.get()));
        }
        if (!place.target->is_left() && !place.target->is_kept()) {
            entries.push_back(
                entry_of(index, place.target->temporary_path() + list_mark(index)));
        }
    }
    return tell(std::move(entries));
}

/// Before it has its name: until then another file has it, or none, and the entry means
/// neither.
Status FileSink::tell_named() const {
    std::vector<std::string> entries;
    for (std::size_t index = 0; index < places_.size(); ++index) {
        const Place& place = places_[index];
        if (place.target && place.is_outside && place.is_temporary &&
            !place.target->is_left()) {
            if (Status awake = use(index)->wake(); !awake) {
                return awake;
            }
            entries.push_back(entry_of(
                index,
                removal_entry(path(index) + list_mark(index), place.target->descriptor())));
        }
    }
    return tell(std::move(entries));
}

Status FileSink::tell(std::vector<std::string> entries) const {
    return entries.empty() || !config_.tell_left ? Status{} : config_.tell_left(entries);
}

/// Libraries first: where a program has its name, its libraries are whole.
Status FileSink::give_names() {
    const std::size_t count = places_.size();
    for (std::size_t i = 0; i < 2 * count; ++i) {
        const std::size_t index = i % count;
        Target* target = use(index);
        const bool is_next = target != nullptr && places_[index].is_library == (i < count);
        Status named = is_next ? target->appear() : Status{};
        places_[index].is_named = places_[index].is_named || (is_next && named);
        if (!named) {
            named = give_up(index, std::move(named).error());
        }
        if (!named) {
            return named;
        }
    }
    if (config_.made && !troubles_.empty()) {
        config_.made->prune();
    }
    return {};
}

std::size_t FileSink::file_count() const {
    std::size_t count = 0;
    for (const Place& place : places_) {
        count += place.target ? place.target->file_count() : 0;
    }
    return count;
}

Status FileSink::list_files() const {
    if (config_.list_directory.empty()) {
        return {};
    }
    std::vector<std::string> files;
    for (std::size_t index = 0; index < places_.size(); ++index) {
        files.push_back(path(index));
    }
    return write_files_list(config_.list_directory, files);
}

/// A directory's entry ends in a slash.
std::string FileSink::list_mark(std::size_t index) const {
    return places_[index].target->is_directory() ? "/" : "";
}

std::string FileSink::entry_of(std::size_t index, const std::string& removal) const {
    return places_[index].is_library ? library_entry(removal) : removal;
}

}  // namespace stage
