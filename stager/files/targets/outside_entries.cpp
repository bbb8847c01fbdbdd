#include "stager/files/targets/outside_entries.h"

#include "stager/removal/cleanup_entry.h"

namespace stage {
namespace {

/// A directory's entry ends in a slash.
std::string list_mark(const SinkTarget& entry) {
    return entry.target->is_directory() ? "/" : "";
}

std::string entry_of(const SinkTarget& entry, const std::string& removal) {
    return entry.is_library ? library_entry(removal) : removal;
}

}  // namespace

Result<std::vector<std::string>> entries_in_progress(const SinkTargets& targets) {
    std::vector<std::string> entries;
    for (std::size_t index = 0; index < targets.size(); ++index) {
        const SinkTarget& one = targets[index];
        if (!one.target || !one.is_outside) {
            continue;
        }
        const std::string path = targets.path(index);
        entries.push_back(use_entry(path));
        if (one.is_temporary && one.target->directory().made) {
            // All of it goes, with what the job puts there.
            TRY(targets.use(index)->wake());
            const std::string directory = path.substr(0, path.rfind('/') + 1);
            entries.push_back(removal_entry(directory, one.target->directory().fd.get()));
        }
        if (!one.target->is_left() && !one.target->is_kept()) {
            entries.push_back(entry_of(one, one.target->temporary_path() + list_mark(one)));
        }
    }
    return entries;
}

Result<std::vector<std::string>> entries_named(const SinkTargets& targets) {
    std::vector<std::string> entries;
    for (std::size_t index = 0; index < targets.size(); ++index) {
        const SinkTarget& one = targets[index];
        if (one.target && one.is_outside && one.is_temporary && !one.target->is_left()) {
            TRY(targets.use(index)->wake());
            entries.push_back(entry_of(
                one,
                removal_entry(targets.path(index) + list_mark(one), one.target->descriptor())));
        }
    }
    return entries;
}

}  // namespace stage
