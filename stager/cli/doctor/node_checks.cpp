#include "stager/cli/doctor/node_checks.h"

#include "stager/cli/doctor/write_check.h"
#include "stager/control/client.h"
#include "stager/daemon/jobs/job_directory.h"
#include "stager/link/munge_check.h"
#include "stager/link/port_holder.h"
#include "stager/link/shared_key.h"
#include "transport/os/installation.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace stage {
namespace {

/// Tries it in a child, since it can't be undone. Returns the child's errno, 0 on success.
int try_namespaces() {
    const pid_t pid = ::fork();
    if (pid == 0) {
        __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
        const bool is_tried = ::syscall(SYS_capset, &head, none.data()) == 0 &&
                              ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
        ::_exit(is_tried ? 0 : errno);
    }
    int status = 0;
    if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        return ECHILD;
    }
    return WEXITSTATUS(status);
}

}  // namespace

Finding check_stage_root(const Config& config) {
    const std::string subject = "StageRoot";
    struct stat status {};
    if (::lstat(config.stage_root.c_str(), &status) != 0 && errno == ENOENT) {
        return unknown(subject, config.stage_root + " is not there yet; stagecastd makes it");
    }
    const auto root = open_stage_root(config.stage_root, config.allow_ram_stage_root);
    const Status way = root ? check_users_way(config.stage_root) : Status{root.error()};
    return way ? and_writable(fine(subject, config.stage_root), config.stage_root)
               : wrong(subject, way.error().sentence());
}

Finding check_login(const Config& config) {
    const std::string& file = config.auth_key_file;
    if (file.empty()) {
        const Result<std::string> cipher = seal_and_open(config.munge_socket);
        return cipher ? fine("munge", *cipher) : wrong("munge", cipher.error().sentence());
    }
    const std::string subject = "AuthKeyFile";
    if (::geteuid() != 0) {
        return unknown(subject, "only root can tell; run this as root");
    }
    const auto key = read_shared_key(file, auth_key_rule(config.slurm_user));
    return key ? fine(subject,
                      file +
                          " is closed to other users; that the other nodes have the same file "
                          "and "
                          "time, `stagecast doctor --multicast` tells")
               : wrong(subject, key.error().sentence());
}

Finding check_pmix(const Config& config) {
    if (!config.auth_key_file.empty()) {
        return fine("PMIx",
                    "is not used with AuthKeyFile=: stages exchange their cards over the "
                    "daemons");
    }
    const int error = try_namespaces();
    return error == 0
               ? fine("PMIx", "its hosts can be isolated from this node's other users")
               : doubtful(
                     "PMIx",
                     Error::from_errno(Blame::node, "making namespaces", error).sentence() +
                         ": stages exchange their cards over the daemons, which takes "
                         "longer; allow user namespaces (sysctl user.max_user_namespaces)");
}

Finding check_daemon(const Config& config) {
    constexpr CallTimeouts kShortTimeout{.connect = std::chrono::seconds{5},
                                         .answer = std::chrono::seconds{5}};
    const std::string socket = config.run_dir + "/stagecastd.sock";
    const auto answer = ask_daemon(socket, PingRequest{}, kShortTimeout);
    if (!answer) {
        return wrong("stagecastd", answer.error().sentence());
    }
    const auto* const pong = std::get_if<Pong>(&*answer);
    if (pong == nullptr) {
        return wrong("stagecastd", "gave an answer that does not fit the request");
    }
    return pong->version == version() ? fine("stagecastd", "answers, version " + pong->version)
                                      : wrong("stagecastd",
                                              "is of version " + printable(pong->version) +
                                                  ", this is " + std::string{version()} +
                                                  "; restart it: systemctl restart stagecastd");
}

/// Reads the kernel's table: a connection without a login would count as an unauthorised one.
Finding check_port(const Config& config) {
    const std::string subject = "TCP port " + std::to_string(config.port);
    const auto holder = find_holder(config.port);
    if (!holder) {
        return wrong(subject, "no process listens; start stagecastd, and see its log");
    }
    if (!holder->listens) {
        return wrong(subject, "no process listens, and " + holder_text(holder, config.port));
    }
    return fine(subject, "a process listens; firewalls between nodes must allow this port");
}

}  // namespace stage
