#include "spank/visibility.h"

#include <sys/stat.h>

namespace stage {
namespace {

/// A job of a hundred thousand destinations shall not make a hundred thousand stats a task.
constexpr std::size_t kMaxPlaces = 64;

}  // namespace

void Visibility::remember(const Verdict& verdict) {
    for (const std::string& path : verdict.paths) {
        const std::string directory = path.substr(0, path.rfind('/'));
        struct stat found {};
        if (directory.empty() || places_.size() >= kMaxPlaces ||
            ::stat(directory.c_str(), &found) != 0) {
            continue;
        }
        places_[directory] = {found.st_dev, found.st_ino};
    }
}

std::optional<std::string> Visibility::objection() const {
    for (const auto& [directory, place] : places_) {
        struct stat found {};
        const bool is_there = ::stat(directory.c_str(), &found) == 0;
        if ((!is_there && errno == ENOENT) ||
            (is_there && place != Place{found.st_dev, found.st_ino})) {
            return printable(directory) +
                   ": the job sees another directory here than the one that was staged into, "
                   "as "
                   "with a private /tmp (job_container/tmpfs); leave DST out, the file is then "
                   "in $STAGECAST_DIR, or name a directory that the node's jobs share";
        }
    }
    return std::nullopt;
}

}  // namespace stage
