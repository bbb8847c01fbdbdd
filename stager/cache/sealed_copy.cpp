#include "stager/cache/sealed_copy.h"

#include "stager/cache/copier.h"
#include "stager/disk/disk_io.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

namespace stage {
namespace {

Error said_errno(std::string_view doing) {
    return Error::from_errno(Blame::node, doing);
}

Status make_patient(int socket) {
    const timeval silence{.tv_sec = kSealedSilenceMax.count(), .tv_usec = 0};
    const int flags = ::fcntl(socket, F_GETFL);
    const bool is_ready =
        flags >= 0 && ::fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0 &&
        ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence) == 0 &&
        ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof silence) == 0;
    return is_ready ? Status{} : Status{said_errno("the connection to the other node")};
}

/// Limits the time that the transfer may have taken so far.
class Pace {
  public:
    explicit Pace(const SealedClock& clock) : clock_{clock}, begun_{clock()} {}

    /// Only complete blocks count.
    void reach(std::uint64_t at) { at_ = at; }
    [[nodiscard]] Status check() const {
        return clock_() - begun_ <= copy_max(at_)
                   ? Status{}
                   : Status{Error{Blame::node, "the other node is too slow"}};
    }

  private:
    const SealedClock& clock_;
    std::chrono::steady_clock::time_point begun_;
    std::uint64_t at_ = 0;
};

Status send_all(int socket, Bytes bytes, const Pace& pace) {
    while (!bytes.empty()) {
        if (Status fast = pace.check(); !fast) {
            return fast;
        }
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return said_errno("sending to the other node");
        }
        bytes = bytes.subspan(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
    return {};
}

Status receive_all(int socket, MutableBytes room, const Pace& pace) {
    while (!room.empty()) {
        if (Status fast = pace.check(); !fast) {
            return fast;
        }
        const ssize_t got = ::recv(socket, room.data(), room.size(), 0);
        if (got == 0) {
            return Error{Blame::node,
                         "the other node closed the connection before the end of the file"};
        }
        if (got < 0 && errno != EINTR) {
            return said_errno("receiving from the other node");
        }
        room = room.subspan(got > 0 ? static_cast<std::size_t>(got) : 0);
    }
    return {};
}

std::size_t length_at(std::uint64_t at, std::uint64_t size) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBytes, size - at));
}

/// Receives one frame with exactly `size` bytes.
Result<std::vector<std::byte>> receive_frame(int socket,
                                             std::size_t length,
                                             FrameOpener& opener,
                                             const Pace& pace) {
    std::vector<std::byte> frame(kFrameHeader + length + kFrameTag);
    const MutableBytes header = MutableBytes{frame}.first(kFrameHeader);
    TRY(receive_all(socket, header, pace));
    const auto whole = FrameOpener::whole_length(header);
    if (!whole || *whole != frame.size()) {
        return Error{Blame::node, "the other node sent an unexpected frame"};
    }
    TRY(receive_all(socket, MutableBytes{frame}.subspan(kFrameHeader), pace));
    return opener.open(frame);
}

}  // namespace

Error no_room() {
    return {Blame::user, "CacheSize has no room for it"};
}

Status send_sealed(int file,
                   int socket,
                   std::uint64_t size,
                   const DirectionKey& key,
                   const SealedClock& clock) {
    if (Status ready = make_patient(socket); !ready) {
        return ready;
    }
    FrameSealer sealer{key};
    Pace pace{clock};
    std::vector<std::byte> room(kBlockBytes);
    std::vector<std::byte> frame;
    for (std::uint64_t at = 0; at < size; at += kBlockBytes) {
        const MutableBytes block = MutableBytes{room}.first(length_at(at, size));
        if (read_fully(file, block, at) != static_cast<std::int64_t>(block.size())) {
            return Error{Blame::node, "the entry can't be read, or is shorter than it was"};
        }
        pace.reach(at);
        frame.clear();
        sealer.seal(block, frame);
        if (Status sent = send_all(socket, frame, pace); !sent) {
            return sent;
        }
    }
    return {};
}

Result<Content> receive_sealed(int socket,
                               int file,
                               std::uint64_t size,
                               const DirectionKey& key,
                               const SealedReceipt& receipt) {
    TRY(make_patient(socket));
    FrameOpener opener{key};
    ContentHasher hasher;
    Pace pace{receipt.clock};
    for (std::uint64_t at = 0; at < size; at += kBlockBytes) {
        pace.reach(at);
        TRY(const auto block, receive_frame(socket, length_at(at, size), opener, pace));
        if (!receipt.may_write(at + block.size())) {
            return no_room();
        }
        hasher.add(block);
        if (!write_fully(file, block, at)) {
            return said_errno("writing the copy");
        }
    }
    if (::fdatasync(file) != 0) {
        return said_errno("writing the copy");
    }
    return hasher.content();
}

}  // namespace stage
