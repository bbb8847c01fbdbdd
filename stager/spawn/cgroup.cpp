#include "stager/spawn/cgroup.h"

#include "stager/spawn/spawner.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup";

void put(const std::string& path, std::string_view text) {
    const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (fd) {
        [[maybe_unused]] const auto written = ::write(fd.get(), text.data(), text.size());
    }
}

std::string first_bytes(const char* path) {
    const UniqueFd fd{::open(path, O_RDONLY | O_CLOEXEC)};
    std::array<char, 4096> text{};
    const ssize_t got = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
    return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string{};
}

}  // namespace

std::string own_cgroup() {
    struct statfs status {};
    const std::string mount{kMount};
    if (::statfs(mount.c_str(), &status) != 0 || status.f_type != CGROUP2_SUPER_MAGIC) {
        return {};
    }
    // On a machine with only v2 the file is one line, "0::/path".
    const std::string text = first_bytes("/proc/self/cgroup");
    constexpr std::string_view kPrefix = "0::";
    const std::size_t end = text.find('\n');
    if (text.compare(0, kPrefix.size(), kPrefix) != 0 || end == std::string::npos) {
        return {};
    }
    const std::string own = mount + text.substr(kPrefix.size(), end - kPrefix.size());
    return ::access((own + "/cgroup.procs").c_str(), W_OK) == 0 ? own : std::string{};
}

void join_cgroup(const std::string& parent, const std::string& group) {
    const std::string path = parent + "/" + group;
    static_cast<void>(::mkdir(path.c_str(), 0755));
    put(path + "/cgroup.procs", "0");
}

void end_cgroup(const std::string& parent, const std::string& group) {
    const std::string path = parent + "/" + group;
    if (::rmdir(path.c_str()) != 0 && errno == EBUSY) {
        put(path + "/cgroup.kill", "1");
        static_cast<void>(::rmdir(path.c_str()));
    }
}

}  // namespace stage
