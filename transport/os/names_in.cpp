#include "transport/os/names_in.h"

#include "transport/os/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>

#include <memory>

namespace stage {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { static_cast<void>(::closedir(directory)); }
};

}  // namespace

std::vector<std::string> names_in(int directory) {
    std::vector<std::string> names;
    // With a place of its own to read on from.
    UniqueFd again{::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const std::unique_ptr<DIR, CloseDirectory> list{again ? ::fdopendir(again.get()) : nullptr};
    if (!list) {
        return names;
    }
    static_cast<void>(again.release());                    // The DIR closes it now.
    while (const dirent* entry = ::readdir(list.get())) {  // NOLINT(concurrency-mt-unsafe)
        std::string name{&entry->d_name[0]};
        if (name != "." && name != "..") {
            names.push_back(std::move(name));
        }
    }
    return names;
}

}  // namespace stage
