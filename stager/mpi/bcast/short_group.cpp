#include "stager/mpi/bcast/short_group.h"

#include "transport/udp/sockets.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace stage {
namespace {

constexpr auto kProtection = Protection::encrypt;
constexpr std::size_t kTagBytes = 12;
constexpr std::size_t kPacketBytes = kShortHeaderBytes + kShortFragmentBytes + kTagBytes;
/// A few calls more than a window.
constexpr std::uint32_t kSocketBuffer = 1U << 20U;
/// Between two looks at the ring.
constexpr int kPacketsAtOnce = 64;

/// A packet on its way: what sendmmsg() takes.
struct Outgoing {
    std::array<std::byte, kShortHeaderBytes> header{};
    std::array<std::byte, kShortFragmentBytes> body{};
    std::array<std::byte, kTagBytes> tag{};
    std::array<iovec, 3> parts{};
};

iovec part_of(Bytes bytes) {
    return {.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
}

}  // namespace

Result<ShortGroup> ShortGroup::open(ShortConfig config) {
    const udp::SocketOptions options{
        .interface = config.interface, .dscp = 0, .buffer_bytes = kSocketBuffer};
    Result<UniqueFd> sending = udp::open_peer_socket(config.own, {0, 0}, options);
    Result<UniqueFd> receiving = udp::open_group_socket(config.group, options);
    if (!sending || !receiving) {
        return sending ? std::move(receiving).error() : std::move(sending).error();
    }
    return ShortGroup{std::move(config), *std::move(sending), *std::move(receiving)};
}

ShortGroup::ShortGroup(ShortConfig config, UniqueFd sending, UniqueFd receiving)
    : config_{std::move(config)},
      mark_{seal::demux(config_.session)},
      sending_{std::move(sending)},
      receiving_{std::move(receiving)},
      own_{cipher_of(config_.rank, seal::PacketCipher::Direction::seal)},
      senders_(config_.members.size()) {
}

/// (One epoch: the 64-bit numbers of packets do not come to an end.)
seal::PacketCipher ShortGroup::cipher_of(Rank member,
                                         seal::PacketCipher::Direction direction) const {
    const seal::SenderEpoch sender{
        .rank = member, .incarnation = config_.members[member.index()], .epoch = 0};
    return {kProtection, seal::derive(config_.key, config_.session, sender), direction};
}

void ShortGroup::send(std::uint64_t call, Bytes message) {
    std::array<Outgoing, kShortFragments> packets{};
    std::array<mmsghdr, kShortFragments> headers{};
    const SocketAddress target = config_.group.to_socket();
    const std::size_t count = short_fragments(message.size());
    for (std::size_t i = 0; i < count; ++i) {
        Outgoing& packet = packets[i];
        const std::uint64_t number = call * kShortFragments + i;
        const Bytes fragment = short_fragment(message, i);
        packet.header = encode_short({.mark = mark_,
                                      .source = config_.rank,
                                      .length = static_cast<std::uint16_t>(message.size()),
                                      .number = number});
        const MutableBytes sealed = MutableBytes{packet.body}.first(fragment.size());
        own_.seal(number, packet.header, fragment, sealed, packet.tag);
        packet.parts = {part_of(packet.header), part_of(sealed), part_of(packet.tag)};
        headers[i].msg_hdr.msg_name = const_cast<sockaddr*>(target.get());
        headers[i].msg_hdr.msg_namelen = target.length;
        headers[i].msg_hdr.msg_iov = packet.parts.data();
        headers[i].msg_hdr.msg_iovlen = packet.parts.size();
    }
    // What the kernel has no room for is lost.
    static_cast<void>(::sendmmsg(sending_.get(),
                                 headers.data(),
                                 static_cast<unsigned>(count),
                                 MSG_DONTWAIT | MSG_NOSIGNAL));
}

Bytes ShortGroup::receive(std::uint64_t call, Rank source, std::size_t length) {
    window_.begin(call);
    Bytes message = window_.message(source, length);
    for (int i = 0; message.empty() && i < kPacketsAtOnce && read_packet(); ++i) {
        message = window_.message(source, length);
    }
    return message;
}

bool ShortGroup::read_packet() {
    std::array<std::byte, kPacketBytes + 1>
        room;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    const ssize_t got = ::recv(receiving_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (got < 0) {
        return false;
    }
    const MutableBytes packet = MutableBytes{room}.first(static_cast<std::size_t>(got));
    const auto header = decode_short(packet);
    if (header && window_.is_wanted(*header) && opens(*header, packet)) {
        window_.keep(
            *header,
            packet.subspan(kShortHeaderBytes, packet.size() - kShortHeaderBytes - kTagBytes));
    }
    return true;
}

/// In place.
bool ShortGroup::opens(const ShortHeader& header, MutableBytes packet) {
    if (header.mark != mark_ || header.source.index() >= senders_.size() ||
        header.source == config_.rank || packet.size() < kShortHeaderBytes + kTagBytes) {
        return false;
    }
    auto& cipher = senders_[header.source.index()];
    if (!cipher) {
        cipher = std::make_unique<seal::PacketCipher>(
            cipher_of(header.source, seal::PacketCipher::Direction::open));
    }
    const MutableBytes body =
        packet.subspan(kShortHeaderBytes, packet.size() - kShortHeaderBytes - kTagBytes);
    return cipher->open(
        header.number, packet.first(kShortHeaderBytes), body, body, packet.last(kTagBytes));
}

}  // namespace stage
