#include "stager/cli/doctor/write_check.h"

#include "stager/disk/disk_io.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace stage {
namespace {

constexpr std::chrono::seconds kWriteMax{5};

Error unwritable(const std::string& path, int cause) {
    const bool is_full = cause == ENOSPC || cause == EDQUOT;
    return Error::from_errno(Blame::node, path + ": a file can't be written there", cause)
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

int write_in(const std::string& path) {
    const std::array<std::byte, 4096> block{};
    const UniqueFd file = make_file(path);
    const bool is_written =
        file && write_fully(file.get(), block, 0) && ::fsync(file.get()) == 0;
    return is_written ? 0 : errno;
}

/// The child's part. What reads this program's output must not wait for a child that hangs.
[[noreturn]] void answer(int to, const std::function<int()>& work) {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int standard : {0, 1, 2}) {
        static_cast<void>(::dup2(nothing, standard));
    }
    const int cause = work();
    _exit(::write(to, &cause, sizeof cause) == sizeof cause ? 0 : 1);
}

}  // namespace

std::optional<int> errno_within(std::chrono::milliseconds longest,
                                const std::function<int()>& work) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return errno;
    }
    const UniqueFd from{ends[0]};
    UniqueFd to{ends[1]};
    const pid_t child = ::fork();
    if (child < 0) {
        return errno;
    }
    if (child == 0) {
        answer(to.get(), work);
    }
    to.reset();
    pollfd answered{.fd = from.get(), .events = POLLIN, .revents = 0};
    int cause = 0;
    const bool has_answered = ::poll(&answered, 1, static_cast<int>(longest.count())) > 0 &&
                              ::read(from.get(), &cause, sizeof cause) == sizeof cause;
    if (!has_answered) {
        static_cast<void>(::kill(child, SIGKILL));
    }
    static_cast<void>(::waitpid(child, nullptr, has_answered ? 0 : WNOHANG));
    return has_answered ? std::optional{cause} : std::nullopt;
}

Status try_writing(const std::string& path) {
    const auto cause = errno_within(kWriteMax, [&path] { return write_in(path); });
    if (!cause) {
        return Error{Blame::node,
                     path + ": a file could not be written there within " +
                         std::to_string(kWriteMax.count()) + " s"}
            .remedy("its disk hangs, see the kernel's log (dmesg)");
    }
    return *cause == 0 ? Status{} : Status{unwritable(path, *cause)};
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
