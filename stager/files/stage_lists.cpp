#include "stager/files/stage_lists.h"

#include "stager/files/disk_error.h"
#include "stager/files/disk_io.h"
#include "transport/base/codec.h"
#include "transport/base/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace stage {
namespace {

/// What a job's specs can amount to, and far more.
constexpr std::int64_t kMaxListBytes = 16LL << 20U;

Result<UniqueFd> open_list_directory(const std::string& directory) {
    constexpr int kPlace = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const UniqueFd parent{::open(directory.c_str(), kPlace)};
    if (!parent) {
        return target_error(directory, errno);
    }
    if (::mkdirat(parent.get(), kListDirectory, 0700) != 0 && errno != EEXIST) {
        return target_error(directory, errno);
    }
    UniqueFd lists{::openat(parent.get(), kListDirectory, kPlace)};
    if (!lists) {
        return target_error(directory + '/' + kListDirectory, errno);
    }
    return lists;
}

std::string read_list(int directory) {
    const std::string path = std::string{kListDirectory} + '/' + kRemoveList;
    const UniqueFd list{
        ::openat(directory, path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    if (!list || ::fstat(list.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return {};
    }
    const std::int64_t size = std::min<std::int64_t>(status.st_size, kMaxListBytes);
    std::string text(static_cast<std::size_t>(size), '\0');
    const std::int64_t count =
        read_fully(list.get(), std::as_writable_bytes(std::span{text.data(), text.size()}), 0);
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
}

}  // namespace

Status write_stage_list(const std::string& directory,
                        const std::string& list,
                        const std::vector<std::string>& paths) {
    const Result<UniqueFd> lists = open_list_directory(directory);
    if (!lists) {
        return lists.error();
    }
    const std::string path = directory + '/' + kListDirectory + '/' + list;
    if (paths.empty()) {
        const bool is_gone = ::unlinkat(lists->get(), list.c_str(), 0) == 0 || errno == ENOENT;
        return is_gone ? Status{} : Status{target_error(path, errno)};
    }
    std::string text;
    for (const std::string& one : paths) {
        text.append(one).push_back('\0');
    }
    const std::string next = list + ".new";
    static_cast<void>(::unlinkat(lists->get(), next.c_str(), 0));
    const UniqueFd file{::openat(lists->get(),
                                 next.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 0600)};
    if (!file || !write_fully(file.get(), as_bytes(text), 0) ||
        ::renameat(lists->get(), next.c_str(), lists->get(), list.c_str()) != 0) {
        return target_error(path, errno);
    }
    return {};
}

std::size_t remove_listed(int directory) {
    const std::string text = read_list(directory);
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        const std::string path = text.substr(at, end - at);
        at = end + 1;
        if (path.starts_with('/') && ::unlink(path.c_str()) == 0) {
            ++count;
        }
    }
    return count;
}

}  // namespace stage
