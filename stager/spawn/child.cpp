#include "stager/spawn/child.h"

#include "stager/spawn/cgroup.h"
#include "transport/os/unique_fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

namespace stage {
namespace {

constexpr int kFirstFd = 3;
/// Descriptors are parked above this number while 3, 4, ... are filled.
constexpr int kParkFd = 64;
/// The limits of a program's open files and locked memory, whatever the daemon's unit allows.
/// (A worker's buffers that an RDMA device writes to are locked: SocketBuffer and some more.)
constexpr rlim_t kOpenFilesMax = 65'536;
constexpr rlim_t kLockedBytesMax = 256U << 20U;
/// A program's private memory, which its job's limits do not bound: it runs in the daemon's
/// service. The index of the largest tree fits, and so do two decoders of an archive.
constexpr rlim_t kPrivateBytesMax = 3U << 29U;

struct DirClose {
    void operator()(DIR* dir) const { static_cast<void>(::closedir(dir)); }
};

bool close_range_call(unsigned first, unsigned last) {
    return ::syscall(SYS_close_range, first, last, 0U) == 0;
}

/// For kernels before 5.9.
void close_listed(int first, int kept) {
    const std::unique_ptr<DIR, DirClose> dir{::opendir("/proc/self/fd")};
    if (dir == nullptr) {
        return;
    }
    std::vector<int> open;
    while (const dirent* entry = ::readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe)
        const int fd = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
        if (fd >= first && fd != kept && fd != ::dirfd(dir.get())) {
            open.push_back(fd);
        }
    }
    for (const int fd : open) {
        ::close(fd);
    }
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (const std::string& text : texts) {
        out.push_back(const_cast<char*>(text.c_str()));  // execve() promises not to write
    }
    out.push_back(nullptr);
    return out;
}

Status write_file(const char* path, const std::string& text) {
    const UniqueFd fd{::open(path, O_WRONLY | O_CLOEXEC)};
    if (!fd || ::write(fd.get(), text.data(), text.size()) < 0) {
        return Error::from_errno(Blame::node, path);
    }
    return {};
}

/// Lowers a limit, soft and hard; one that is lower already stays.
bool lower_limit(decltype(RLIMIT_CORE) resource, rlim_t most) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) {
        return false;
    }
    limit.rlim_max = std::min(limit.rlim_max, most);
    limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
    return ::setrlimit(resource, &limit) == 0;
}

Status limit(const ProgramRequest& program) {
    if (!lower_limit(RLIMIT_CORE, 0) || !lower_limit(RLIMIT_NOFILE, kOpenFilesMax) ||
        !lower_limit(RLIMIT_MEMLOCK, kLockedBytesMax) ||
        !lower_limit(RLIMIT_DATA, kPrivateBytesMax)) {
        return Error::from_errno(Blame::node, "limiting core dumps, open files, memory");
    }
    ::umask(program.umask);
    if (::chdir("/") != 0) {
        return Error::from_errno(Blame::node, "entering /");
    }
    if (program.oom_score_adj != 0) {
        // In a container lowering it may be forbidden; the program runs all the same.
        static_cast<void>(
            write_file("/proc/self/oom_score_adj", std::to_string(program.oom_score_adj)));
    }
    return {};
}

Status drop_privileges(const ProgramRequest& program) {
    if (!program.user) {
        return {};
    }
    Status became = become_user(*program.user);
    if (!became) {
        return became;
    }
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return Error::from_errno(Blame::node, "giving up set-uid programs");
    }
    return {};
}

/// What passwd says of a user; no name: nothing.
struct KnownUser {
    std::string name{};
    gid_t primary_group = static_cast<gid_t>(-1);
};

KnownUser known(const UserIdentity& user) {
    constexpr std::size_t kEntryMax = 65'536;
    std::vector<char> buffer(kEntryMax);
    passwd entry{};
    passwd* found = nullptr;
    if (!user.name.empty() &&
        ::getpwnam_r(user.name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
        found != nullptr && found->pw_uid == user.uid) {
        return {.name = user.name, .primary_group = found->pw_gid};
    }
    if (::getpwuid_r(user.uid, &entry, buffer.data(), buffer.size(), &found) != 0 ||
        found == nullptr) {
        return {};
    }
    return {.name = found->pw_name, .primary_group = found->pw_gid};
}

}  // namespace

std::string name_of(const UserIdentity& user) {
    return known(user).name;
}

void close_from(int first, int kept) {
    const auto from = static_cast<unsigned>(first);
    const auto keep = static_cast<unsigned>(kept);
    bool done = true;
    if (kept < first) {
        done = close_range_call(from, ~0U);
    } else {
        done = (kept == first || close_range_call(from, keep - 1)) &&
               close_range_call(keep + 1, ~0U);
    }
    if (!done) {
        close_listed(first, kept);
    }
}

void stand_alone() {
    static_cast<void>(::setsid());
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (int number = 1; number <= SIGRTMAX; ++number) {
        static_cast<void>(::sigaction(number, &standard, nullptr));
    }
    sigset_t none;
    ::sigemptyset(&none);
    static_cast<void>(::pthread_sigmask(SIG_SETMASK, &none, nullptr));
}

Result<int> arrange_descriptors(std::span<const int> fds, int kept) {
    const auto failed = [] { return Error::from_errno(Blame::node, "arranging descriptors"); };
    std::vector<int> parked;
    for (const int fd : fds) {
        parked.push_back(::fcntl(fd, F_DUPFD_CLOEXEC, kParkFd));
        if (parked.back() < 0) {
            return failed();
        }
    }
    const int keep = kept < 0 ? -1 : ::fcntl(kept, F_DUPFD_CLOEXEC, kParkFd);
    if (kept >= 0 && keep < 0) {
        return failed();
    }
    int target = kFirstFd;
    for (const int fd : parked) {
        if (::dup2(fd, target++) < 0) {
            return failed();
        }
    }
    close_from(target, keep);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || ::dup2(null, STDIN_FILENO) < 0) {
        return failed();
    }
    ::close(null);
    return keep;
}

/// UserIdentity's default.
constexpr gid_t kPasswdGroup = static_cast<gid_t>(-1);

Status become_user(const UserIdentity& user) {
    const std::string who = "becoming uid " + std::to_string(user.uid);
    const KnownUser self = known(user);
    const gid_t gid = user.gid == kPasswdGroup ? self.primary_group : user.gid;
    if (gid == kPasswdGroup) {
        return Error{Blame::node, who + ": it is no user of this node"};
    }
    // A name that the group database does not know is no reason to fail: Slurm's own identity
    // of the job is uid and gid. The gid may be another than passwd's (newgrp, sbatch --gid);
    // the group of passwd, of which the group database need not tell, is the user's all the
    // same.
    const int grouped = self.name.empty() ? ::setgroups(1, &gid)
                                          : ::initgroups(self.name.c_str(), self.primary_group);
    if (grouped != 0) {
        return Error::from_errno(Blame::node, who + ": its groups");
    }
    if (::setresgid(gid, gid, gid) != 0 || ::setresuid(user.uid, user.uid, user.uid) != 0) {
        return Error::from_errno(Blame::node, who);
    }
    if (::getuid() != user.uid || ::geteuid() != user.uid || ::getegid() != gid ||
        (user.uid != 0 && ::setuid(0) == 0)) {
        return Error{Blame::internal, who + " did not hold"};
    }
    return {};
}

Status die_with(pid_t parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
        return Error::from_errno(Blame::node, "tying a child to its parent");
    }
    if (::getppid() != parent) {
        return Error{Blame::node, "stagecastd has ended"};
    }
    return {};
}

Error run_program(const ProgramRequest& program, const std::string& cgroup, pid_t parent) {
    if (!cgroup.empty() && !program.group.empty()) {
        join_cgroup(cgroup, program.group);
    }
    TRY(limit(program));
    TRY(drop_privileges(program));
    TRY(die_with(parent));
    static_cast<void>(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    const std::vector<char*> arguments = pointers(program.arguments);
    // The program inherits the daemon's stderr, and so needs its name (transport/base/log.h).
    std::vector<std::string> variables = program.environment;
    if (const char* const stream = std::getenv("JOURNAL_STREAM")) {  // NOLINT: no threads
        variables.push_back(std::string{"JOURNAL_STREAM="} + stream);
    }
    const std::vector<char*> environment = pointers(variables);
    ::execve(program.path.c_str(), arguments.data(), environment.data());
    Error failed = Error::from_errno(Blame::node, "executing " + program.path);
    return failed.cause() == EAGAIN  // RLIMIT_NPROC
               ? std::move(failed).remedy("does the user have too many processes?")
               : failed;
}

}  // namespace stage
