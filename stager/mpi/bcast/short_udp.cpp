#include "stager/mpi/bcast/short_datagrams.h"
#include "stager/mpi/bcast/short_packet.h"
#include "transport/udp/sockets.h"

#include <sys/socket.h>

#include <array>
#include <utility>

namespace stage {
namespace {

/// A few calls more than a window.
constexpr std::uint32_t kSocketBuffer = 1U << 20U;

class ShortUdp final : public ShortDatagrams {
  public:
    ShortUdp(const Address& group, UniqueFd sending, UniqueFd receiving)
        : group_{group.to_socket()},
          sending_{std::move(sending)},
          receiving_{std::move(receiving)} {}

    void send(std::span<const Bytes> datagrams) override {
        std::array<iovec, kShortFragments> parts{};
        std::array<mmsghdr, kShortFragments> headers{};
        const std::size_t count = std::min(datagrams.size(), headers.size());
        for (std::size_t i = 0; i < count; ++i) {
            parts[i] = {.iov_base = const_cast<std::byte*>(datagrams[i].data()),
                        .iov_len = datagrams[i].size()};
            headers[i].msg_hdr.msg_name = const_cast<sockaddr*>(group_.get());
            headers[i].msg_hdr.msg_namelen = group_.length;
            headers[i].msg_hdr.msg_iov = &parts[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
        static_cast<void>(::sendmmsg(sending_.get(),
                                     headers.data(),
                                     static_cast<unsigned>(count),
                                     MSG_DONTWAIT | MSG_NOSIGNAL));
    }

    MutableBytes receive() override {
        const ssize_t got = ::recv(receiving_.get(), room_.data(), room_.size(), MSG_DONTWAIT);
        return got > 0 ? MutableBytes{room_}.first(static_cast<std::size_t>(got))
                       : MutableBytes{};
    }

  private:
    SocketAddress group_;
    UniqueFd sending_;
    UniqueFd receiving_;
    std::array<std::byte, kShortPacketBytes + 1> room_;
};

}  // namespace

Result<std::unique_ptr<ShortDatagrams>> short_by_udp(const Address& group,
                                                     const Address& own,
                                                     const std::string& interface) {
    const udp::SocketOptions options{
        .interface = interface, .dscp = 0, .buffer_bytes = kSocketBuffer};
    TRY(auto sending, udp::open_peer_socket(own, {0, 0}, options));
    TRY(auto receiving, udp::open_group_socket(group, options));
    return std::unique_ptr<ShortDatagrams>{
        std::make_unique<ShortUdp>(group, std::move(sending), std::move(receiving))};
}

}  // namespace stage
