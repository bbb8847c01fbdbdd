#include "transport/seal/session_seal.h"

#include "transport/base/invariant.h"

#include <utility>

namespace stage::seal {
namespace {

/// What comes to the group may wait in its socket, data and all, while later packets of the
/// same sender come to the own one: as many numbers as 64 MiB of small packets.
constexpr std::uint64_t kStreamWindow = 1U << 16U;

}  // namespace

SessionSeal::SessionSeal(SessionKeys keys)
    : keys_{std::move(keys)}, demux_{seal::demux(keys_.session)} {
    invariant(keys_.own.index() < keys_.members.size(), "a member stands in its own table");
}

PacketKey SessionSeal::key_of(Rank rank, std::uint32_t epoch) const {
    if (keys_.protection == Protection::none) {
        return {};  // A checksum has none.
    }
    const SenderEpoch sender{
        .rank = rank, .incarnation = keys_.members[rank.index()], .epoch = epoch};
    return derive(keys_.group, keys_.session, sender);
}

void SessionSeal::prepare(Rank sender) {
    own_cipher_.emplace(keys_.protection, key_of(keys_.own, 0), PacketCipher::Direction::seal);
    if (sender == keys_.own) {
        return;
    }
    Sender& awaited = senders_[{.rank = sender}];
    awaited.control = ReplayWindow{kStreamWindow};
    if (keys_.protection != Protection::none) {
        awaited.opening.prepare(
            PacketCipher{keys_.protection, key_of(sender, 0), PacketCipher::Direction::open},
            0);
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
    auto header =
        screened(packet,
                 {.demux = demux_, .version = keys_.version, .tag_bytes = tag_bytes()},
                 counters_);
    if (!header) {
        return std::nullopt;
    }
    if (header->rank.index() >= keys_.members.size() || header->rank == keys_.own) {
        ++counters_.unknown_rank;
        return std::nullopt;
    }
    Sender& heard = heard_from(path_of(*header));
    SenderOpening& sender = heard.opening;
    const bool was_expanded = sender.is_expanded();
    if (header->is_data()) {
        header->packet_number = wire::expand(
            sender.largest(), static_cast<std::uint16_t>(header->packet_number & 0xffffU));
    }
    const std::size_t body_bytes = packet.size() - wire::kHeaderBytes - tag_bytes();
    MutableBytes body;
    if (header->is_data() && room && keys_.protection == Protection::encrypt) {
        body = room(*header, body_bytes);
    }
    if (body.empty()) {
        body = packet.subspan(wire::kHeaderBytes, body_bytes);
    }
    const auto derived = [this, rank = header->rank](std::uint32_t epoch) {
        return key_of(rank, epoch);
    };
    const bool is_genuine = sender.open(keys_.protection, *header, packet, body, derived);
    if (!was_expanded && sender.is_expanded()) {
        rest_oldest(path_of(*header));
    }
    if (!is_genuine) {
        ++counters_.forged;
        return std::nullopt;
    }
    heard.was_heard = true;
    return admit(*header) ? std::optional{Opened{.header = *header, .body = body}}
                          : std::nullopt;
}

/// Rests the oldest path; a path that was heard since its last turn has another turn.
void SessionSeal::rest_oldest(Path added) {
    expanded_.push_back(added);
    while (expanded_.size() > kExpandedMax) {
        const Path path = expanded_.front();
        expanded_.pop_front();
        Sender& sender = senders_[path];
        if (std::exchange(sender.was_heard, false)) {
            expanded_.push_back(path);
        } else {
            sender.opening.rest();
        }
    }
}

/// Nearly always the same as last time.
SessionSeal::Sender& SessionSeal::heard_from(Path path) {
    if (last_ == nullptr || last_path_ != path) {
        last_ = &senders_[path];
        last_path_ = path;
    }
    return *last_;
}

bool SessionSeal::admit(const wire::Header& header) {
    Sender& sender = heard_from(path_of(header));
    if (!header.is_data() && !sender.control.admit(header.packet_number)) {
        ++counters_.replayed;
        return false;
    }
    sender.opening.note(header.packet_number);
    return true;
}

FlowSeal SessionSeal::flow(Rank source, Flow flow) const {
    return FlowSeal{{.protection = keys_.protection,
                     .group = keys_.group,
                     .session = keys_.session,
                     .version = keys_.version,
                     .source = source,
                     .incarnation = keys_.members[source.index()],
                     .flow = flow}};
}

}  // namespace stage::seal
