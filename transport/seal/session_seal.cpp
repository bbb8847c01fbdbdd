#include "transport/seal/session_seal.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <utility>

namespace stage::seal {

SessionSeal::SessionSeal(SessionKeys keys)
    : keys_{std::move(keys)}, demux_{seal::demux(keys_.session)} {
    invariant(keys_.own.index() < keys_.members.size(), "a member stands in its own table");
}

PacketKey SessionSeal::key_of(Rank rank, std::uint32_t epoch) const {
    const SenderEpoch sender{
        .rank = rank, .incarnation = keys_.members[rank.index()], .epoch = epoch};
    return derive(keys_.group, keys_.session, sender);
}

void SessionSeal::prepare(Rank sender) {
    own_cipher_.emplace(keys_.protection, key_of(keys_.own, 0), PacketCipher::Direction::seal);
    if (sender != keys_.own && keys_.protection != Protection::none) {
        senders_[sender].cipher.emplace(
            keys_.protection, key_of(sender, 0), PacketCipher::Direction::open);
    }
}

void SessionSeal::seal(
    std::uint64_t packet_number, Bytes header, Bytes body, MutableBytes out, MutableBytes tag) {
    const std::uint32_t epoch = epoch_of(packet_number);
    if (!own_cipher_ || own_epoch_ != epoch) {
        own_cipher_.emplace(
            keys_.protection, key_of(keys_.own, epoch), PacketCipher::Direction::seal);
        own_epoch_ = epoch;
    }
    own_cipher_->seal(packet_number, header, body, out, tag);
}

std::optional<Opened> SessionSeal::open(MutableBytes packet, const PayloadRoom& room) {
    wire::HeaderFault fault{};
    auto header = wire::read_header(packet, fault);
    if (!header || packet.size() < wire::kHeaderBytes + tag_bytes()) {
        ++counters_.malformed;
        return std::nullopt;
    }
    if (header->session != demux_) {
        ++counters_.other_session;
        return std::nullopt;
    }
    if (header->rank.index() >= keys_.members.size() || header->rank == keys_.own) {
        ++counters_.unknown_rank;
        return std::nullopt;
    }
    Sender& sender = senders_[header->rank];
    if (header->is_data()) {
        header->packet_number = wire::expand(
            sender.largest, static_cast<std::uint16_t>(header->packet_number & 0xffffU));
    }
    const std::size_t body_bytes = packet.size() - wire::kHeaderBytes - tag_bytes();
    MutableBytes body;
    if (header->is_data() && room && keys_.protection == Protection::encrypt) {
        body = room(*header, body_bytes);
    }
    if (body.empty()) {
        body = packet.subspan(wire::kHeaderBytes, body_bytes);
    }
    if (!open_body(sender, *header, packet, body)) {
        ++counters_.forged;
        return std::nullopt;
    }
    if (!header->is_data() && !sender.control.admit(header->packet_number)) {
        ++counters_.replayed;
        return std::nullopt;
    }
    sender.largest = std::max(sender.largest, header->packet_number);
    return Opened{.header = *header, .body = body};
}

bool SessionSeal::open_body(Sender& sender,
                            const wire::Header& header,
                            Bytes packet,
                            MutableBytes out) {
    const Bytes head = packet.first(wire::kHeaderBytes);
    const Bytes tag = packet.last(tag_bytes());
    const Bytes body =
        packet.subspan(wire::kHeaderBytes, packet.size() - head.size() - tag.size());
    const std::uint32_t epoch = epoch_of(header.packet_number);
    if (sender.cipher && sender.epoch == epoch) {
        return sender.cipher->open(header.packet_number, head, body, out, tag);
    }
    // Another epoch than the one in use: kept only if the packet opens, so that a forged number
    // can't make every packet pay for a key derivation twice.
    PacketCipher cipher{
        keys_.protection, key_of(header.rank, epoch), PacketCipher::Direction::open};
    if (!cipher.open(header.packet_number, head, body, out, tag)) {
        return false;
    }
    if (!sender.cipher || epoch > sender.epoch) {
        sender.cipher.emplace(std::move(cipher));
        sender.epoch = epoch;
    }
    return true;
}

}  // namespace stage::seal
