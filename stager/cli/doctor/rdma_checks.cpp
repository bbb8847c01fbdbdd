#include "stager/cli/doctor/rdma_checks.h"

#include "transport/os/names_in.h"
#include "transport/os/unique_fd.h"
#include "transport/verbs/rdma_core.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>

namespace stage {
namespace {

constexpr const char* kManager = "/dev/infiniband/rdma_cm";

bool can_all_users_open(const char* path) {
    constexpr mode_t kBoth = S_IROTH | S_IWOTH;
    struct stat file {};
    return ::stat(path, &file) == 0 && (file.st_mode & kBoth) == kBoth;
}

}  // namespace

RdmaSeen rdma_seen(const Config& config) {
    const UniqueFd devices{::open("/sys/class/infiniband", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    RdmaSeen seen{.has_device = !names_in(devices.get()).empty()};
    if (!seen.has_device) {
        seen.why_not = "this node has no RDMA device";
        return seen;
    }
    seen.users_may_open = can_all_users_open(kManager);
    std::vector<RailNames> entries = config.interfaces;
    for (RailNames& entry : entries) {
        std::ranges::transform(entry, entry.begin(), interface_called);
    }
    const auto rails = choose_rails(entries, interfaces_here(AF_INET));
    if (!rails) {
        seen.why_not = rails.error().sentence();
        return seen;
    }
    const auto port = verbs::open_device_port({.rail = rails->front()});
    if (port) {
        seen.port = (*port)->facts().name + ", datagrams of " +
                    std::to_string((*port)->facts().mtu) + " bytes";
    } else {
        seen.why_not = port.error().sentence();
    }
    return seen;
}

std::vector<Finding> judge_rdma(const RdmaSeen& seen, Transport transport) {
    if (transport != Transport::verbs) {
        return {};
    }
    std::vector<Finding> findings;
    if (!seen.why_not.empty()) {
        findings.push_back(doubtful("rdma", seen.why_not + "; stagings go by UDP"));
    } else {
        findings.push_back(fine("rdma", seen.port + ", where every node of a staging has one"));
    }
    if (seen.has_device && !seen.users_may_open) {
        findings.push_back(doubtful(
            "rdma",
            std::string{kManager} +
                " can't be used by users, whose workers go by UDP then; give it mode 0666, as "
                "for MPI programs (a udev rule)"));
    }
    return findings;
}

}  // namespace stage
