#include "stager/disk/open_to_read.h"

#include <cerrno>
#include <chrono>
#include <thread>

namespace stage {
namespace {

/// Longer than the 45 s after which the kernel takes a lease away (lease-break-time, proc(5)).
constexpr std::chrono::seconds kLeaseMax{50};
constexpr std::chrono::milliseconds kStep{20};

}  // namespace

UniqueFd open_to_read(int at, const std::string& name, int flags) {
    const int how = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags;
    const auto end = std::chrono::steady_clock::now() + kLeaseMax;
    UniqueFd file{::openat(at, name.c_str(), how)};
    while (!file && errno == EWOULDBLOCK && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(kStep);
        file.reset(::openat(at, name.c_str(), how));
    }
    return file;
}

}  // namespace stage
