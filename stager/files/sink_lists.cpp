// What of a sink's files lies outside of the stage's directory, and must go with it?
#include "stager/files/file_sink.h"
#include "stager/files/removal.h"
#include "stager/files/stage_lists.h"

namespace stage {

Status FileSink::list_unfinished() const {
    if (config_.list_directory.empty()) {
        return {};
    }
    std::vector<std::string> paths;
    for (std::size_t index = 0; index < places_.size(); ++index) {
        const Place& place = places_[index];
        const bool is_kept = place.target && place.target->is_kept();
        if (place.target && place.is_outside && !place.target->is_left() && !is_kept) {
            paths.push_back(entry_of(index, place.target->temporary_path() + list_mark(index)));
        }
    }
    return write_stage_list(config_.list_directory, kRemoveList, paths);
}

/// Each that is to go with the stage is listed the moment it has its name, and not before: what
/// has that name until then is somebody else's. Whatever ends this, then, leaves none behind.
Status FileSink::give_names() {
    for (std::size_t index = 0; index < places_.size(); ++index) {
        Target* target = places_[index].target.get();
        Status named = target != nullptr ? target->appear() : Status{};
        if (target != nullptr && target->is_named()) {  // And one that failed after that.
            Status listed = list_named(index);
            named = named ? std::move(listed) : std::move(named);
        }
        if (!named) {
            named = give_up(index, std::move(named).error());
        }
        if (!named) {
            return named;
        }
    }
    return {};
}

Status FileSink::list_named(std::size_t index) {
    const Place& place = places_[index];
    if (!place.is_outside || !place.is_temporary || config_.list_directory.empty()) {
        return {};
    }
    to_remove_.push_back(entry_of(
        index, removal_of(path(index) + list_mark(index), place.target->descriptor())));
    return add_to_stage_list(config_.list_directory, kRemoveList, to_remove_.back());
}

Status FileSink::write_lists() const {
    if (config_.list_directory.empty()) {
        return {};
    }
    std::vector<std::string> files;
    for (std::size_t index = 0; index < places_.size(); ++index) {
        files.push_back(path(index));
    }
    Status written = write_stage_list(config_.list_directory, kRemoveList, to_remove_);
    return written ? write_stage_list(config_.list_directory, kFilesList, files)
                   : std::move(written);
}

/// A directory's name in the remove list ends in a slash.
std::string FileSink::list_mark(std::size_t index) const {
    return places_[index].target->is_directory() ? "/" : "";
}

std::string FileSink::entry_of(std::size_t index, const std::string& removal) const {
    return places_[index].is_library ? library_removal(removal) : removal;
}

}  // namespace stage
