#include "pmix/host/identity.h"

#include "pmix/freed.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <munge.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

namespace stage::pmix_host {
namespace {

Error node_errno(const std::string& doing) {
    return Error::from_errno(Blame::node, doing);
}

Status raise_loopback() {
    const UniqueFd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (!socket || ::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) {
        return node_errno("bringing up loopback for the PMIx host");
    }
    return {};
}

/// Drops all capabilities of the namespace's root but those for changing uid and gid.
Status keep_identity_rights() {
    __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    sets[0].effective = sets[0].permitted = 1U << CAP_SETUID | 1U << CAP_SETGID;
    return ::syscall(SYS_capset, &head, sets.data()) == 0
               ? Status{}
               : Status{node_errno("giving up capabilities")};
}

/// A child that stays outside of the new namespace, since its id maps can only be written from
/// there. Each id maps to itself, but `inner_root` is 0 inside, and the node's 0 is not mapped.
class IdMapper {
  public:
    static Result<IdMapper> fork(const SpareUser& inner_root) {
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            return node_errno("making a pipe");
        }
        IdMapper mapper;
        UniqueFd waits{ends[0]};
        mapper.go_.reset(ends[1]);
        const pid_t parent = ::getpid();
        mapper.pid_ = ::fork();
        if (mapper.pid_ == 0) {
            mapper.go_.reset();
            char letter = 0;
            const bool is_started = ::read(waits.get(), &letter, 1) == 1;
            ::_exit(is_started ? write_maps(parent, inner_root) : 0);
        }
        return mapper.pid_ > 0 ? Result<IdMapper>{std::move(mapper)}
                               : Result<IdMapper>{node_errno("forking")};
    }
    IdMapper(IdMapper&& other) noexcept
        : go_{std::move(other.go_)}, pid_{std::exchange(other.pid_, -1)} {}
    IdMapper& operator=(IdMapper&&) = delete;
    IdMapper(const IdMapper&) = delete;
    IdMapper& operator=(const IdMapper&) = delete;
    ~IdMapper() { static_cast<void>(end()); }

    /// Informs the child that this process has entered its namespace.
    Status map() {
        const bool is_started = ::write(go_.get(), "x", 1) == 1;
        const int error = end();
        return is_started && error == 0
                   ? Status{}
                   : Status{Error::from_errno(Blame::node,
                                              "mapping ids for the PMIx host",
                                              is_started ? error : EPIPE)};
    }

  private:
    IdMapper() = default;

    static int write_map(const std::string& path, std::uint32_t inner_root) {
        constexpr std::uint32_t kLast = 0xffff'fffe;
        const auto line = [](std::uint32_t inside, std::uint32_t outside, std::uint32_t count) {
            return std::to_string(inside) + ' ' + std::to_string(outside) + ' ' +
                   std::to_string(count) + '\n';
        };
        const std::string text = line(0, inner_root, 1) + line(1, 1, inner_root - 1) +
                                 line(inner_root + 1, inner_root + 1, kLast - inner_root);
        const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
        return file && ::write(file.get(), text.data(), text.size()) > 0 ? 0 : errno;
    }

    static int write_maps(pid_t of, const SpareUser& inner_root) {
        const std::string path = "/proc/" + std::to_string(of);
        const int error = write_map(path + "/uid_map", inner_root.uid);
        return error != 0 ? error : write_map(path + "/gid_map", inner_root.gid);
    }

    /// Returns the child's errno.
    int end() {
        go_.reset();
        int status = 0;
        const pid_t pid = std::exchange(pid_, -1);
        if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
            return ECHILD;
        }
        return WEXITSTATUS(status);
    }

    UniqueFd go_;
    pid_t pid_ = -1;
};

}  // namespace

Status leave_node(const SpareUser& spare, const std::string& directory) {
    if (::chown(directory.c_str(), spare.uid, spare.gid) != 0) {
        return node_errno("giving " + directory + " to uid " + std::to_string(spare.uid));
    }
    TRY(auto mapper, IdMapper::fork(spare));
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return node_errno("making a user and a network namespace for the PMIx host");
    }
    if (Status mapped = mapper.map(); !mapped) {
        return mapped;
    }
    if (::setgroups(0, nullptr) != 0 || ::setresgid(0, 0, 0) != 0 ||
        ::setresuid(0, 0, 0) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return node_errno("becoming the root of its own user namespace");
    }
    if (Status raised = raise_loopback(); !raised) {
        return raised;
    }
    return keep_identity_rights();
}

Status become(const HostJob& job) {
    invariant(job.uid != 0, "a PMIx host never serves root");
    if (::geteuid() == job.uid && ::getuid() == job.uid) {
        return {};
    }
    const gid_t group = job.gid;
    // glibc applies each of the three calls to every thread. With the last one the kernel drops
    // each thread's capabilities.
    if (::setgroups(1, &group) != 0 || ::setresgid(group, group, group) != 0 ||
        ::setresuid(job.uid, job.uid, job.uid) != 0) {
        return node_errno("becoming uid " + std::to_string(job.uid));
    }
    invariant(::setuid(0) != 0, "there is no way back to root");
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0) != 0) {
        return node_errno("giving up privileges");
    }
    return {};
}

Status limit_memory(std::uint64_t bytes_max) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0) {
        return node_errno("reading the limit of memory");
    }
    limit.rlim_cur = bytes_max < limit.rlim_max ? bytes_max : limit.rlim_max;
    limit.rlim_max = limit.rlim_cur;
    if (::setrlimit(RLIMIT_AS, &limit) != 0) {
        return node_errno("limiting memory");
    }
    return {};
}

Status munge_answers() {
    char* raw = nullptr;
    const munge_err_t error = munge_encode(&raw, nullptr, nullptr, 0);
    const MallocPointer<char> credential{raw};
    if (error != EMUNGE_SUCCESS) {
        return Error{Blame::node, std::string{"munge: "} + munge_strerror(error)}.remedy(
            "start munged on this node");
    }
    return {};
}

}  // namespace stage::pmix_host
