#include "pmix/host/identity.h"

#include "pmix/freed.h"
#include "transport/base/unique_fd.h"

#include <grp.h>
#include <munge.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace stage::pmix_host {
namespace {

Error node_errno(const std::string& doing) {
    return Error::from_errno(Blame::node, doing);
}

}  // namespace

Status leave_network() {
    return ::unshare(CLONE_NEWNET) == 0
               ? Status{}
               : Status{node_errno("making a network namespace for the PMIx host")};
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

Status become(const HostJob& job, const std::string& directory) {
    invariant(job.uid != 0, "a PMIx host never serves root");
    if (::geteuid() == job.uid && ::getuid() == job.uid) {
        return {};
    }
    if (::chown(directory.c_str(), job.uid, job.gid) != 0) {
        return node_errno("giving " + directory + " to uid " + std::to_string(job.uid));
    }
    const gid_t group = job.gid;
    // glibc carries each of the three over to every thread.
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
