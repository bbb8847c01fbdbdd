#include "stager/cli/node_checks.h"

#include "stager/control/client.h"
#include "stager/daemon/job_directory.h"
#include "stager/link/munge_check.h"
#include "transport/base/unique_fd.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

namespace stage {
namespace {

struct AddressesFree {
    void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};
using Addresses = std::unique_ptr<ifaddrs, AddressesFree>;

Addresses addresses_here() {
    ifaddrs* list = nullptr;
    return Addresses{::getifaddrs(&list) == 0 ? list : nullptr};
}

Finding check_interface(const Addresses& all, const std::string& name) {
    const std::string subject = "interface " + name;
    bool is_there = false;
    unsigned flags = 0;
    bool has_address = false;
    for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
        if (name == one->ifa_name) {
            is_there = true;
            flags = one->ifa_flags;
            const bool is_v4 = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET;
            has_address = has_address || is_v4;
        }
    }
    if (!is_there) {
        return wrong(subject,
                     "there is none of that name; correct Interface in stagecast.conf");
    }
    if ((flags & IFF_UP) == 0) {
        return wrong(subject, "is down; ip link set " + name + " up");
    }
    if ((flags & IFF_MULTICAST) == 0) {
        return wrong(subject, "can't multicast; name another one in Interface");
    }
    return has_address ? fine(subject, "is up and can multicast")
                       : wrong(subject, "has no IPv4 address; give it one, or name another");
}

}  // namespace

Finding check_stage_root(const Config& config) {
    const std::string subject = "StageRoot";
    struct stat status {};
    if (::lstat(config.stage_root.c_str(), &status) != 0 && errno == ENOENT) {
        return unknown(subject, config.stage_root + " is not there yet; stagecastd makes it");
    }
    const auto root = open_stage_root(config.stage_root, config.allow_ram_stage_root);
    return root ? fine(subject, config.stage_root) : wrong(subject, root.error().sentence());
}

std::vector<Finding> check_interfaces(const Config& config) {
    if (config.interfaces.empty()) {
        return {wrong("interface",
                      "none is named, so no multicast leaves this node; set Interface= in "
                      "stagecast.conf")};
    }
    const Addresses all = addresses_here();
    std::vector<Finding> findings;
    for (const std::string& name : config.interfaces) {
        findings.push_back(check_interface(all, name));
    }
    return findings;
}

Finding check_munge(const Config& config) {
    const Result<std::string> cipher = seal_and_open(config.munge_socket);
    return cipher ? fine("munge", *cipher) : wrong("munge", cipher.error().sentence());
}

Finding check_daemon(const Config& config) {
    constexpr Patience kBrief{.connect = std::chrono::seconds{5},
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
