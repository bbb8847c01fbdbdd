// Sends and receives the datagrams of worker_setup.h; a long message travels as a memfd.
#include "stager/messages/worker_setup.h"
#include "transport/base/codec.h"
#include "transport/os/descriptors.h"

#include <array>
#include <cerrno>
#include <utility>

namespace stage {
namespace {

/// The first byte of every datagram: the message is inside, or in a file beside it.
enum class Carriage : std::uint8_t { inside = 1, memfd = 2 };

Result<PeerMessage> unpack(Bytes datagram, UntrustedFd file, std::size_t limit) {
    ByteReader reader{datagram};
    const auto carriage = static_cast<Carriage>(reader.u8());
    if (carriage == Carriage::inside && reader.ok() && reader.left() <= limit) {
        const Bytes message = reader.raw(reader.left());
        return PeerMessage{
            PeerMessage::Kind::message, {message.begin(), message.end()}, std::move(file)};
    }
    const std::uint64_t length = reader.u64();
    const bool is_sound =
        carriage == Carriage::memfd && reader.finished() && length <= limit && file;
    if (!is_sound || !is_in_memory(file.get())) {
        return Error{Blame::internal, "a control datagram is malformed"};
    }
    Result<std::vector<std::byte>> message = read_first(file.get(), length);
    if (!message) {
        return std::move(message).error();
    }
    if (message->size() < length) {
        return Error{Blame::internal, "a control message is shorter than its announced length"};
    }
    return PeerMessage{PeerMessage::Kind::message, std::move(*message), {}};
}

}  // namespace

Status send_to_peer(int fd, Bytes message, int descriptor) {
    constexpr std::string_view kDoing = "sending to the control socket";
    ByteWriter writer;
    if (message.size() <= kMaxDatagram) {
        writer.u8(static_cast<std::uint8_t>(Carriage::inside)).raw(message);
        const std::span beside{&descriptor, descriptor < 0 ? 0U : 1U};
        return send_with_descriptors(fd, writer.view(), beside, 0, kDoing);
    }
    invariant(descriptor < 0, "a message with a descriptor is short");
    TRY(const auto file, file_in_memory("stagecast-setup", message));
    writer.u8(static_cast<std::uint8_t>(Carriage::memfd)).u64(message.size());
    return send_with_descriptors(fd, writer.view(), std::array{file.get()}, 0, kDoing);
}

Result<PeerMessage> receive_from_peer(int fd, std::size_t limit, const CloserPtr& closer) {
    // All descriptors that the kernel passes: those beyond a limit it would close in this very
    // thread.
    const auto receive = [fd] {
        return receive_with_descriptors(
            fd, kMaxDatagram + 1, kMaxDescriptors, "reading the control socket");
    };
    Result<Received> received = receive();
    if (!received && received.error().cause() == ECONNRESET) {
        // If the peer left messages unread at its end, one reset is reported before its last
        // messages.
        received = receive();
    }
    if (!received && received.error().cause() == EAGAIN) {
        return PeerMessage{PeerMessage::Kind::nothing_yet, {}, {}};
    }
    if (!received && received.error().cause() != ECONNRESET) {
        return std::move(received).error();
    }
    if (!received || received->ended) {
        return PeerMessage{PeerMessage::Kind::closed, {}, {}};
    }
    const bool is_one = received->fds.size() <= 1;
    UntrustedFd file = is_one && !received->fds.empty()
                           ? UntrustedFd{std::move(received->fds.front()), closer}
                           : UntrustedFd{};
    if (!is_one) {
        closer->close(std::move(received->fds));
    }
    if (received->is_cut || !is_one) {
        return Error{Blame::internal,
                     is_one ? "a control datagram is too long"
                            : "a control datagram has too many descriptors"};
    }
    return unpack(received->message, std::move(file), limit);
}

}  // namespace stage
