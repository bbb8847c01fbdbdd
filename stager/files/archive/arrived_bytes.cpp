#include "stager/files/archive/arrived_bytes.h"

#include "stager/disk/disk_io.h"
#include "transport/base/invariant.h"
#include "transport/base/units.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

namespace stage {
namespace {

/// How far the reader may be behind the received blocks, bytes.
constexpr std::uint64_t kLagMax = 64U << 20U;
/// A block waits no longer than this, since this member must also serve repair requests.
constexpr std::chrono::milliseconds kWaitMax{500};

}  // namespace

ArrivedBytes::ArrivedBytes(UniqueFd file, std::uint64_t size)
    : file_{std::move(file)}, size_{size}, held_((size + kBlockBytes - 1) / kBlockBytes) {
}

bool ArrivedBytes::write(std::uint64_t offset, Bytes bytes) {
    if (!write_fully(file_.get(), bytes, offset)) {
        return false;
    }
    {
        const std::lock_guard lock{mutex_};
        held_[offset / kBlockBytes] = true;
        bytes_held_ += bytes.size();
    }
    came_.notify_one();
    return true;
}

void ArrivedBytes::adopt(UniqueFd file) {
    {
        const std::lock_guard lock{mutex_};
        invariant(bytes_held_ == 0, "the reader has not begun");
        file_ = std::move(file);
        held_.assign(held_.size(), true);
        bytes_held_ = size_;
        is_adopted_ = true;
    }
    came_.notify_one();
}

/// Opens the file again, since the own descriptor can write.
UniqueFd ArrivedBytes::reading() const {
    const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
    return UniqueFd{is_adopted_ ? ::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0)
                                : ::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
}

bool ArrivedBytes::read_back(std::uint64_t offset, MutableBytes room) const {
    return read_fully(file_.get(), room, offset) == static_cast<std::int64_t>(room.size());
}

void ArrivedBytes::wait_for_reader() {
    std::unique_lock lock{mutex_};
    // A reader that waits for a missing block is not behind.
    was_read_.wait_for(lock, kWaitMax, [this] {
        return is_read_ || bytes_held_ <= read_to_ + kLagMax || !has(read_to_);
    });
}

void ArrivedBytes::stop() {
    {
        const std::lock_guard lock{mutex_};
        is_stopped_ = true;
    }
    came_.notify_all();
}

bool ArrivedBytes::has(std::uint64_t offset) const {
    return offset < size_ && held_[offset / kBlockBytes];
}

std::int64_t ArrivedBytes::read(std::uint64_t offset, MutableBytes room) {
    if (offset >= size_) {
        return 0;
    }
    std::uint64_t end = offset;
    {
        std::unique_lock lock{mutex_};
        read_to_ = offset;
        was_read_.notify_one();
        came_.wait(lock, [&] { return is_stopped_ || has(offset); });
        if (is_stopped_) {
            errno = ECANCELED;
            return -1;
        }
        const std::uint64_t wanted = std::min<std::uint64_t>(size_, offset + room.size());
        while (end < wanted && has(end)) {
            end = std::min(wanted, (end / kBlockBytes + 1) * kBlockBytes);
        }
    }
    return read_fully(file_.get(), room.first(end - offset), offset);
}

void ArrivedBytes::end_reading() {
    {
        const std::lock_guard lock{mutex_};
        is_read_ = true;
    }
    was_read_.notify_all();
}

}  // namespace stage
