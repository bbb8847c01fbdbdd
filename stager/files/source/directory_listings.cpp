#include "stager/files/source/directory_listings.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <span>

namespace stage {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { static_cast<void>(::closedir(directory)); }
};

bool is_same(const std::timespec& a, const std::timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

Digest128 digest_of_names(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) {
        all += name + '/';
    }
    return xxh3_128(std::as_bytes(std::span{all}));
}

}  // namespace

std::optional<std::vector<std::string>> sorted_names(int directory) {
    UniqueFd fd{::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const std::unique_ptr<DIR, CloseDirectory> list{fd ? ::fdopendir(fd.get()) : nullptr};
    if (!list) {
        return std::nullopt;
    }
    static_cast<void>(fd.release());  // The DIR closes the descriptor.
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(list.get())) {  // NOLINT(concurrency-mt-unsafe)
        std::string name{entry->d_name};
        if (name != "." && name != "..") {
            names.push_back(std::move(name));
        }
        errno = 0;
    }
    if (errno != 0) {
        return std::nullopt;
    }
    std::ranges::sort(names);
    return names;
}

std::optional<std::vector<std::string>> DirectoryListings::list(std::uint32_t directory,
                                                                int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) {
        return std::nullopt;
    }
    auto names = sorted_names(fd);
    if (names) {
        all_.push_back({.directory = directory,
                        .mtime = status.st_mtim,
                        .ctime = status.st_ctim,
                        .names = digest_of_names(*names)});
    }
    return names;
}

std::vector<DirectoryListings::Changed> DirectoryListings::changed(
    TreeDirectories& directories) const {
    std::vector<Changed> all;
    for (const Listing& listing : all_) {
        struct stat now {};
        const int fd = directories.at(listing.directory);
        if (fd < 0 || ::fstat(fd, &now) != 0) {
            all.push_back({.directory = listing.directory, .is_gone = true});
            continue;
        }
        if (is_same(now.st_mtim, listing.mtime) && is_same(now.st_ctim, listing.ctime)) {
            continue;
        }
        auto names = sorted_names(fd);
        if (!names) {
            all.push_back({.directory = listing.directory, .is_gone = true});
        } else if (digest_of_names(*names) != listing.names) {
            all.push_back({.directory = listing.directory, .names = *std::move(names)});
        }
    }
    return all;
}

}  // namespace stage
