#include "stager/control/shared_call.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

namespace stage {
namespace {

/// Locks a file for this process, until the lock is destroyed. (A lock of fcntl() belongs to a
/// process; one of flock() would be shared by all forked processes.)
class FileLock {
  public:
    explicit FileLock(const UniqueFd& file) : fd_{file.get()} { set(F_WRLCK); }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock() { set(F_UNLCK); }

  private:
    void set(short kind) const {
        struct flock whole {};
        whole.l_type = kind;
        whole.l_whence = SEEK_SET;
        while (::fcntl(fd_, F_SETLKW, &whole) != 0 && errno == EINTR) {
        }
    }

    int fd_;
};

}  // namespace

Result<SharedCall> SharedCall::begin(const std::string& socket_path,
                                     const Request& request,
                                     const CallTimeouts& timeouts) {
    UniqueFd kept{::memfd_create("stagecast-answer", MFD_CLOEXEC)};
    if (!kept) {
        return Error{
            Blame::node,
            "no memory for stagecastd's answer: " + std::generic_category().message(errno)};
    }
    TRY(auto call, Call::begin(socket_path, request, timeouts.connect, timeouts.absent));
    return SharedCall{
        std::move(call), std::move(kept), std::chrono::steady_clock::now() + timeouts.answer};
}

std::vector<std::byte> SharedCall::kept() const {
    struct stat found {};
    if (::fstat(kept_.get(), &found) != 0 || found.st_size <= 0) {
        return {};
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(found.st_size));
    const auto count = ::pread(kept_.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return bytes;
}

Result<Answer> SharedCall::answer() const {
    const FileLock lock{kept_};
    const std::vector<std::byte> before = kept();
    auto end = static_cast<off_t>(before.size());
    return call_.answer(deadline_, before, [&](Bytes bytes) {
        const auto count = ::pwrite(kept_.get(), bytes.data(), bytes.size(), end);
        end += count < 0 ? 0 : count;
    });
}

}  // namespace stage
