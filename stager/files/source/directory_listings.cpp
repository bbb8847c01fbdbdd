#include "stager/files/source/directory_listings.h"

#include <sys/stat.h>

namespace stage {
namespace {

bool is_same(const std::timespec& a, const std::timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

bool DirectoryListings::begin(std::uint32_t directory, int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        return false;
    }
    all_.push_back({.directory = directory, .mtime = status.st_mtim, .ctime = status.st_ctim});
    return true;
}

std::optional<std::uint32_t> DirectoryListings::find_changed(
    TreeDirectories& directories) const {
    for (const Listing& listing : all_) {
        struct stat now {};
        const int fd = directories.at(listing.directory);
        if (fd < 0 || ::fstat(fd, &now) != 0 || !is_same(now.st_mtim, listing.mtime) ||
            !is_same(now.st_ctim, listing.ctime)) {
            return listing.directory;
        }
    }
    return std::nullopt;
}

}  // namespace stage
