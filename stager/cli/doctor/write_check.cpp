#include "stager/cli/doctor/write_check.h"

#include "stager/disk/disk_io.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace stage {
namespace {

Error unwritable(const std::string& path) {
    const bool is_full = errno == ENOSPC || errno == EDQUOT;
    return Error::from_errno(Blame::node, path + ": a file can't be written there")
        .remedy(is_full ? "free space and inodes there"
                        : "see the kernel's log (dmesg) for errors of its disk");
}

/// Uses an unnamed file where the file system supports it, so that nothing is left if this
/// process is killed.
UniqueFd make_file(const std::string& path) {
    UniqueFd file{::open(path.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)};
    if (!file && (errno == EOPNOTSUPP || errno == EISDIR)) {
        std::string name = path + "/.stagecast-doctor-XXXXXX";
        file.reset(::mkostemp(name.data(), O_CLOEXEC));
        if (file) {
            static_cast<void>(::unlink(name.c_str()));
        }
    }
    return file;
}

}  // namespace

Status try_writing(const std::string& path) {
    const std::array<std::byte, 4096> block{};
    const UniqueFd file = make_file(path);
    if (!file || !write_fully(file.get(), block, 0) || ::fsync(file.get()) != 0) {
        return unwritable(path);
    }
    return {};
}

Finding and_writable(Finding found, const std::string& path) {
    Status written = found.health == Health::fine ? try_writing(path) : Status{};
    return written ? std::move(found) : wrong(found.subject, written.error().sentence());
}

Finding check_run_dir(const std::string& path) {
    const std::string subject = "RunDir";
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return errno == ENOENT
                   ? unknown(subject, path + " is not there yet; stagecastd makes it")
                   : wrong(subject, Error::from_errno(Blame::node, path).sentence());
    }
    return and_writable(fine(subject, path), path);
}

}  // namespace stage
