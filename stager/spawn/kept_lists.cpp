#include "stager/spawn/kept_lists.h"

#include "stager/files/stage_lists.h"
#include "transport/base/names_in.h"
#include "transport/base/open_unmounted.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace stage {
namespace {

constexpr const char* kKeptDirectory = ".stagecast";
constexpr std::string_view kOf = ".of.";
constexpr int kPlaceHere = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Where the worker put it; whatever the user made of the way there, and of the list, is
/// neither followed nor entered.
UniqueFd list_in_place(int root, const std::vector<std::string>& path) {
    UniqueFd at{::openat(root, ".", kPlaceHere)};
    for (const std::string& name : path) {
        at = open_unmounted(at.get(), name.c_str(), kPlaceHere);
    }
    at = open_unmounted(at.get(), kListDirectory, kPlaceHere);
    UniqueFd list = open_unmounted(at.get(), kRemoveList, O_PATH | O_NOFOLLOW);
    struct stat status {};
    const bool is_list = list && ::fstat(list.get(), &status) == 0 && S_ISREG(status.st_mode);
    return is_list ? std::move(list) : UniqueFd{};
}

UniqueFd kept_directory(int root) {
    return UniqueFd{::openat(root, kKeptDirectory, kPlaceHere)};
}

/// From heir to heir its name would grow: the first owner's, and which of its lists, is the
/// last part.
std::string first_of(int kept, const std::string& name) {
    const std::size_t of = name.rfind(kOf);
    if (of != std::string::npos) {
        return name.substr(of + kOf.size());
    }
    struct stat status {};
    static_cast<void>(::fstatat(kept, name.c_str(), &status, AT_SYMLINK_NOFOLLOW));
    return name + '.' + std::to_string(status.st_ino);
}

std::string inherited_name(std::string heir, const std::string& first) {
    return heir.append(kOf).append(first);
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
    const UniqueFd list = list_in_place(root, path);
    if (!list) {
        return;
    }
    const std::string name = kept_name(path);
    const std::string self = "/proc/self/fd/" + std::to_string(list.get());
    // Another job's end may take the directory away in between.
    for (int tries = 0; tries < 3; ++tries) {
        static_cast<void>(::mkdirat(root, kKeptDirectory, 0700));
        const UniqueFd kept = kept_directory(root);
        static_cast<void>(::unlinkat(kept.get(), name.c_str(), 0));
        if (::linkat(AT_FDCWD, self.c_str(), kept.get(), name.c_str(), AT_SYMLINK_FOLLOW) ==
                0 ||
            errno != ENOENT) {
            return;
        }
    }
}

std::vector<std::string> kept_lists(int root, const std::vector<std::string>& path) {
    std::vector<std::string> names = names_in(kept_directory(root).get());
    const std::string own = kept_name(path);
    std::erase_if(names, [&](const std::string& name) {
        return name != own && !name.starts_with(own + ".");
    });
    return names;
}

UniqueFd open_kept_list(int root, const std::string& name, uid_t owner) {
    UniqueFd list{::openat(kept_directory(root).get(),
                           name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    const bool is_it = list && ::fstat(list.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                       status.st_uid == owner;
    return is_it ? std::move(list) : UniqueFd{};
}

std::optional<ListOwner> owner_of_kept_lists(int root, const std::vector<std::string>& path) {
    const UniqueFd kept = kept_directory(root);
    for (const std::string& name : kept_lists(root, path)) {
        struct stat status {};
        if (::fstatat(kept.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
            return ListOwner{.uid = status.st_uid, .gid = status.st_gid};
        }
    }
    return std::nullopt;
}

std::set<std::uint32_t> jobs_with_kept_lists(int root) {
    std::set<std::uint32_t> jobs;
    for (const std::string& name : names_in(kept_directory(root).get())) {
        char* end = nullptr;
        const unsigned long job = std::strtoul(name.c_str(), &end, 10);
        if (end != name.c_str() && job <= UINT32_MAX) {
            jobs.insert(static_cast<std::uint32_t>(job));
        }
    }
    return jobs;
}

void bequeath_kept_lists(int root,
                         const std::vector<std::string>& path,
                         const std::vector<std::string>& heirs) {
    const UniqueFd kept = kept_directory(root);
    for (const std::string& name : kept_lists(root, path)) {
        const std::string first = first_of(kept.get(), name);
        for (const std::string& heir : heirs) {
            const std::string next = inherited_name(heir, first);
            static_cast<void>(!::linkat(kept.get(), name.c_str(), kept.get(), next.c_str(), 0));
        }
    }
}

void disinherit_kept_list(int root,
                          const std::string& name,
                          const std::vector<std::string>& heirs) {
    const UniqueFd kept = kept_directory(root);
    const std::string first = first_of(kept.get(), name);
    for (const std::string& heir : heirs) {
        static_cast<void>(::unlinkat(kept.get(), inherited_name(heir, first).c_str(), 0));
    }
}

void forget_kept_list(int root, const std::string& name) {
    static_cast<void>(::unlinkat(kept_directory(root).get(), name.c_str(), 0));
    static_cast<void>(::unlinkat(root, kKeptDirectory, AT_REMOVEDIR));
}

}  // namespace stage
