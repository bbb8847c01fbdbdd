#include "stager/spawn/kept_lists.h"

#include "stager/files/stage_lists.h"
#include "transport/base/open_unmounted.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

namespace stage {
namespace {

constexpr const char* kKeptDirectory = ".stagecast";
constexpr std::string_view kOf = ".of.";
constexpr int kPlaceHere = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Where the worker put it; whatever the user made of the way there is not followed.
UniqueFd place_of_list(int root, const std::vector<std::string>& path) {
    UniqueFd at{::openat(root, ".", kPlaceHere)};
    for (const std::string& name : path) {
        at = open_unmounted(at.get(), name.c_str(), kPlaceHere);
    }
    return open_unmounted(at.get(), kListDirectory, kPlaceHere);
}

std::vector<std::string> kept_names(int directory, const std::vector<std::string>& path) {
    std::vector<std::string> names;
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> list{copy >= 0 ? ::fdopendir(copy) : nullptr,
                                                   ::closedir};
    if (!list) {
        UniqueFd{copy}.reset();
        return names;
    }
    const std::string own = kept_name(path);
    while (const dirent* entry = ::readdir(list.get())) {  // NOLINT(concurrency-mt-unsafe)
        std::string name{&entry->d_name[0]};
        if (name == own || name.starts_with(own + ".")) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

/// Whatever else has such a name is not opened.
void add_list_of(uid_t owner, int at, const char* name, std::vector<UniqueFd>& lists) {
    UniqueFd list{::openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    if (list && ::fstat(list.get(), &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == owner) {
        lists.push_back(std::move(list));
    }
}

/// `act` on each list of `path` with the name that it has as each heir's.
template <class Act>
void for_each_inheritance(int root,
                          const std::vector<std::string>& path,
                          const std::vector<std::string>& heirs,
                          Act act) {
    const UniqueFd kept{::openat(root, kKeptDirectory, kPlaceHere)};
    for (const std::string& name :
         kept ? kept_names(kept.get(), path) : std::vector<std::string>{}) {
        // From heir to heir its name would grow: the first owner's is the last part.
        const std::size_t of = name.rfind(kOf);
        const std::string first = of == std::string::npos ? name : name.substr(of + kOf.size());
        for (const std::string& heir : heirs) {
            act(kept.get(), name, heir + std::string{kOf} + first);
        }
    }
}

}  // namespace

std::string kept_name(const std::vector<std::string>& path) {
    std::string name;
    for (const std::string& one : path) {
        name += (name.empty() ? "" : ".") + one;
    }
    return name;
}

void keep_remove_list(int root, const std::vector<std::string>& path) {
    const UniqueFd from = place_of_list(root, path);
    struct stat status {};
    if (!from || ::fstatat(from.get(), kRemoveList, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
        return;
    }
    const std::string name = kept_name(path);
    // Another job's end may take the directory away in between.
    for (int tries = 0; tries < 3; ++tries) {
        static_cast<void>(::mkdirat(root, kKeptDirectory, 0700));
        const UniqueFd kept{::openat(root, kKeptDirectory, kPlaceHere)};
        static_cast<void>(::unlinkat(kept.get(), name.c_str(), 0));
        if (::linkat(from.get(), kRemoveList, kept.get(), name.c_str(), 0) == 0 ||
            errno != ENOENT) {
            return;
        }
    }
}

std::vector<UniqueFd> open_kept_lists(int root,
                                      const std::vector<std::string>& path,
                                      uid_t owner) {
    std::vector<UniqueFd> lists;
    const UniqueFd kept{::openat(root, kKeptDirectory, kPlaceHere)};
    for (const std::string& name :
         kept ? kept_names(kept.get(), path) : std::vector<std::string>{}) {
        add_list_of(owner, kept.get(), name.c_str(), lists);
    }
    return lists;
}

void bequeath_kept_lists(int root,
                         const std::vector<std::string>& path,
                         const std::vector<std::string>& heirs) {
    for_each_inheritance(
        root, path, heirs, [](int kept, const std::string& name, const std::string& next) {
            static_cast<void>(!::linkat(kept, name.c_str(), kept, next.c_str(), 0));
        });
}

void disinherit_kept_lists(int root,
                           const std::vector<std::string>& path,
                           const std::vector<std::string>& heirs) {
    for_each_inheritance(
        root, path, heirs, [](int kept, const std::string&, const std::string& next) {
            static_cast<void>(::unlinkat(kept, next.c_str(), 0));
        });
}

std::vector<UniqueFd> open_files_lists(int root,
                                       const std::vector<std::string>& heirs,
                                       uid_t owner) {
    std::vector<UniqueFd> lists;
    for (const std::string& heir : heirs) {
        const std::size_t dot = std::min(heir.find('.'), heir.size());
        std::vector<std::string> path{heir.substr(0, dot)};
        if (dot < heir.size()) {
            path.push_back(heir.substr(dot + 1));
        }
        add_list_of(owner, place_of_list(root, path).get(), kFilesList, lists);
    }
    return lists;
}

void forget_kept_lists(int root, const std::vector<std::string>& path) {
    const UniqueFd kept{::openat(root, kKeptDirectory, kPlaceHere)};
    for (const std::string& name :
         kept ? kept_names(kept.get(), path) : std::vector<std::string>{}) {
        static_cast<void>(::unlinkat(kept.get(), name.c_str(), 0));
    }
    static_cast<void>(::unlinkat(root, kKeptDirectory, AT_REMOVEDIR));
}

}  // namespace stage
