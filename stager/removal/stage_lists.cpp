#include "stager/removal/stage_lists.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"
#include "transport/base/codec.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>

namespace stage {
namespace {

constexpr int kPlaceHere = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

Result<UniqueFd> open_list_directory(const std::string& directory) {
    // A step's directory may be missing: the first process that needs it makes it.
    static_cast<void>(::mkdir(directory.c_str(), 0700));
    const UniqueFd parent{::open(directory.c_str(), kPlaceHere)};
    if (!parent) {
        return target_error(directory, errno);
    }
    if (::mkdirat(parent.get(), kListDirectory, 0700) != 0 && errno != EEXIST) {
        return target_error(directory, errno);
    }
    UniqueFd lists{::openat(parent.get(), kListDirectory, kPlaceHere)};
    if (!lists) {
        return target_error(directory + '/' + kListDirectory, errno);
    }
    return lists;
}

Status write_files_list(const std::string& directory, const std::vector<std::string>& paths) {
    TRY(const auto lists, open_list_directory(directory));
    const std::string path = directory + '/' + kListDirectory + '/' + kFilesList;
    if (paths.empty()) {
        const bool is_gone = ::unlinkat(lists.get(), kFilesList, 0) == 0 || errno == ENOENT;
        return is_gone ? Status{} : Status{target_error(path, errno)};
    }
    std::string text;
    for (const std::string& one : paths) {
        text.append(one).push_back('\0');
    }
    const std::string next = std::string{kFilesList} + ".new";
    static_cast<void>(::unlinkat(lists.get(), next.c_str(), 0));
    const UniqueFd file{::openat(
        lists.get(), next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!file || !write_fully(file.get(), as_bytes(text), 0) ||
        ::renameat(lists.get(), next.c_str(), lists.get(), kFilesList) != 0) {
        return target_error(path, errno);
    }
    return {};
}

}  // namespace stage
