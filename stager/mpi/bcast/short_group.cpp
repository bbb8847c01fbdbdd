#include "stager/mpi/bcast/short_group.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

constexpr auto kProtection = Protection::encrypt;
/// Between two looks at the ring.
constexpr int kPacketsAtOnce = 64;

}  // namespace

ShortGroup::ShortGroup(ShortConfig config, std::unique_ptr<ShortDatagrams> datagrams)
    : config_{std::move(config)},
      mark_{seal::demux(config_.session)},
      datagrams_{std::move(datagrams)},
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
    std::array<std::array<std::byte, kShortPacketBytes>, kShortFragments>
        packets;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::array<Bytes, kShortFragments> datagrams{};
    const std::size_t count = short_fragments(message.size());
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t number = call * kShortFragments + i;
        const Bytes fragment = short_fragment(message, i);
        const auto header = encode_short({.mark = mark_,
                                          .source = config_.rank,
                                          .length = static_cast<std::uint16_t>(message.size()),
                                          .number = number});
        const MutableBytes packet = MutableBytes{packets[i]}.first(
            kShortHeaderBytes + fragment.size() + kShortTagBytes);
        std::ranges::copy(header, packet.begin());
        own_.seal(number,
                  header,
                  fragment,
                  packet.subspan(kShortHeaderBytes, fragment.size()),
                  packet.last(kShortTagBytes));
        datagrams[i] = packet;
    }
    datagrams_->send(std::span{datagrams}.first(count));
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
    const MutableBytes packet = datagrams_->receive();
    if (packet.empty()) {
        return false;
    }
    const auto header = decode_short(packet);
    if (header && window_.is_wanted(*header) && opens(*header, packet)) {
        window_.keep(*header,
                     packet.subspan(kShortHeaderBytes,
                                    packet.size() - kShortHeaderBytes - kShortTagBytes));
    }
    return true;
}

/// In place.
bool ShortGroup::opens(const ShortHeader& header, MutableBytes packet) {
    if (header.mark != mark_ || header.source.index() >= senders_.size() ||
        header.source == config_.rank || packet.size() < kShortHeaderBytes + kShortTagBytes) {
        return false;
    }
    auto& cipher = senders_[header.source.index()];
    if (!cipher) {
        cipher = std::make_unique<seal::PacketCipher>(
            cipher_of(header.source, seal::PacketCipher::Direction::open));
    }
    const MutableBytes body =
        packet.subspan(kShortHeaderBytes, packet.size() - kShortHeaderBytes - kShortTagBytes);
    return cipher->open(header.number,
                        packet.first(kShortHeaderBytes),
                        body,
                        body,
                        packet.last(kShortTagBytes));
}

}  // namespace stage
