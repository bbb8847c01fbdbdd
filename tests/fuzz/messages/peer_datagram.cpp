// Fuzzes a worker's datagrams and attached descriptors.
//
// The input is a few datagrams: a byte that says what comes beside it and how long that is, a
// piece. A worker is its user's process, and sends what it likes.
#include "stager/messages/worker_setup.h"
#include "tests/fuzz/fuzz.h"
#include "transport/os/descriptors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace stage {
namespace {

constexpr std::size_t kLimit = 1U << 16U;
constexpr int kDatagramsMax = 8;

UniqueFd memfd_of(std::size_t bytes) {
    UniqueFd file{::memfd_create("beside", MFD_CLOEXEC)};
    invariant(file && ::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0,
              "a file in memory can be made");
    return file;
}

/// Bits 0 to 2: how many descriptors; bit 3: of a pipe; else: how long the file is.
std::vector<UniqueFd> beside(std::uint8_t how) {
    std::vector<UniqueFd> all;
    for (unsigned i = 0; i < (how & 7U) % 4U; ++i) {
        if ((how & 8U) == 0) {
            all.push_back(memfd_of((how >> 4U) * 16U));
            continue;
        }
        std::array<int, 2> ends{};
        invariant(::pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe can be made");
        all.emplace_back(ends[0]);
        ::close(ends[1]);
    }
    return all;
}

void send_raw(int socket, Bytes datagram, const std::vector<UniqueFd>& files) {
    std::vector<int> fds;
    for (const UniqueFd& file : files) {
        fds.push_back(file.get());
    }
    invariant(send_with_descriptors(socket, datagram, fds).ok(), "a datagram can be sent");
}

/// True if it was taken for a message.
bool exchange(int sender, int receiver, Bytes datagram, std::uint8_t how) {
    const std::vector<UniqueFd> files = beside(how);
    send_raw(sender, datagram, files);
    const Result<PeerMessage> got = receive_from_peer(receiver, kLimit);
    const bool is_message = got && got->kind == PeerMessage::Kind::message;
    invariant(!is_message || files.size() <= 1, "several descriptors are refused");
    invariant(!is_message || got->message.size() <= kLimit, "a message has its limit");
    const bool is_inside = !datagram.empty() && datagram.front() == std::byte{1};
    if (is_message && is_inside) {
        invariant(same(got->message, datagram.subspan(1)), "a message comes as it was sent");
        invariant(static_cast<bool>(got->file) == !files.empty(), "and what is beside it");
    } else if (is_message) {
        invariant(files.size() == 1 && (how & 8U) == 0, "a long message is a file in memory");
        invariant(got->message.size() <= (how >> 4U) * 16U, "and has no more than this");
        invariant(!got->file, "which is not handed on");
    }
    if (is_message) {
        static_cast<void>(decode_from_worker(got->message));
    }
    return is_message;
}

}  // namespace

bool fuzz_one(Bytes input) {
    std::array<int, 2> ends{};
    invariant(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0,
              "sockets can be had");
    const UniqueFd sender{ends[0]};
    const UniqueFd receiver{ends[1]};
    ByteReader reader{input};
    bool is_taken = false;
    for (int left = kDatagramsMax; left > 0 && reader.left() > 1; --left) {
        const std::uint8_t how = reader.u8();
        const Bytes datagram = piece_of(reader);
        is_taken = exchange(sender.get(), receiver.get(), datagram, how) || is_taken;
    }
    return is_taken;
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto memfd = [](std::uint64_t length) {
        return ByteWriter{}.u8(2).u64(length).take();
    };
    ByteWriter out;
    const auto inside = chosen(1, encode_from_worker(WorkerProgress{.bytes = 7}));
    put_piece(out.u8(0), text_of(inside));
    put_piece(out.u8(9), text_of(inside));
    put_piece(out.u8(2), text_of(inside));
    const auto small = owned(out.view());
    put_piece(out.u8(0x41), text_of(memfd(64)));
    put_piece(out.u8(0x41), text_of(memfd(65)));
    put_piece(out.u8(0x49), text_of(memfd(1)));
    put_piece(out.u8(0x00), text_of(memfd(0)));
    put_piece(out.u8(0x41), text_of(memfd(~0ULL)));
    return {{"inside", small}, {"memfd", out.take()}};
}

}  // namespace stage
