#include "stager/cli/node_checks.h"

#include "stager/control/client.h"
#include "stager/daemon/job_directory.h"
#include "stager/link/munge_check.h"
#include "transport/base/unique_fd.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {

Finding check_stage_root(const Config& config) {
    const std::string subject = "StageRoot";
    struct stat status {};
    if (::lstat(config.stage_root.c_str(), &status) != 0 && errno == ENOENT) {
        return unknown(subject, config.stage_root + " is not there yet; stagecastd makes it");
    }
    const auto root = open_stage_root(config.stage_root, config.allow_ram_stage_root);
    return root ? fine(subject, config.stage_root) : wrong(subject, root.error().sentence());
}

Finding check_munge(const Config& config) {
    const Result<std::string> cipher = seal_and_open(config.munge_socket);
    return cipher ? fine("munge", *cipher) : wrong("munge", cipher.error().sentence());
}

Finding check_daemon(const Config& config) {
    constexpr CallPatience kBrief{.connect = std::chrono::seconds{5},
                                  .answer = std::chrono::seconds{5}};
    const std::string socket = config.run_dir + "/stagecastd.sock";
    const auto answer = ask_daemon(socket, PingRequest{}, kBrief);
    if (!answer) {
        return wrong("stagecastd", answer.error().sentence());
    }
    const auto* const pong = std::get_if<Pong>(&*answer);
    if (pong == nullptr) {
        return wrong("stagecastd", "gave an answer to another question");
    }
    return pong->version == kStagecastVersion
               ? fine("stagecastd", "answers, version " + pong->version)
               : wrong("stagecastd",
                       "is of version " + printable(pong->version) + ", this is " +
                           kStagecastVersion + "; restart it: systemctl restart stagecastd");
}

Finding check_port(const Config& config) {
    const std::string subject = "TCP port " + std::to_string(config.port);
    const UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(config.port);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!fd ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0) {
        return wrong(subject,
                     Error::from_errno(Blame::node, "nobody listens").sentence() +
                         "; start stagecastd, and see its log");
    }
    return fine(subject, "somebody listens; between nodes a firewall must let it pass, too");
}

}  // namespace stage
