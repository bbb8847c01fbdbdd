#include "stager/files/manifest/tree_directories.h"

#include <fcntl.h>

#include <algorithm>

namespace stage {
namespace {

constexpr std::size_t kOpenMax = 32;

}  // namespace

int TreeDirectories::find(std::uint32_t directory) {
    if (directory == 0) {
        return top_.get();
    }
    for (Open& one : open_) {
        if (one.directory == directory) {
            one.used = ++uses_;
            return one.fd.get();
        }
    }
    return -1;
}

/// Replaces the least recently used descriptor; never the one used last.
int TreeDirectories::keep(std::uint32_t directory, UniqueFd fd) {
    if (open_.size() == kOpenMax) {
        open_.erase(std::ranges::min_element(open_, {}, &Open::used));
    }
    open_.push_back({.directory = directory, .used = ++uses_, .fd = std::move(fd)});
    return open_.back().fd.get();
}

int TreeDirectories::at(std::uint32_t directory) {
    std::vector<TreeNode> way;  // Upwards, to the nearest one that is open.
    std::vector<std::uint32_t> indexes;
    int here = find(directory);
    for (std::uint32_t up = directory; here < 0; here = find(up)) {
        way.push_back(index_->node(up));
        indexes.push_back(up);
        up = way.back().parent;
    }
    for (std::size_t i = way.size(); i-- > 0;) {
        const bool is_followed = followed_ != nullptr && followed_->contains(indexes[i]);
        const int follow = is_followed ? 0 : O_NOFOLLOW;
        UniqueFd next{
            ::openat(here, way[i].name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | follow)};
        if (!next) {
            return -1;
        }
        here = keep(indexes[i], std::move(next));
    }
    return here;
}

}  // namespace stage
