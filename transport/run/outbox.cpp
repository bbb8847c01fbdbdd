#include "transport/run/outbox.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stage {
namespace {

constexpr std::size_t kTrainBytesMax = 65000;  ///< Below UDP's 65,507.
constexpr std::size_t kTogetherMax = 16;       ///< Trains in one call.

}  // namespace

Outbox::Outbox(Driver& driver,
               seal::SessionSeal& seal,
               BlockStore& blocks,
               const core::CoreConfig& config,
               std::uint8_t flows)
    : driver_{driver}, seal_{seal}, blocks_{blocks}, config_{config}, flows_{flows} {
    invariant(flows >= 1 && flows <= kFlowsMax, "a flow has four bits");
    use_chunks_of(config.chunk_bytes);
    room_.reserve(kTrainBytesMax + packet_bytes_max());
    pieces_.reserve(kTrainPiecesMax);
}

std::size_t Outbox::packet_bytes_max() const {
    return wire::kHeaderBytes + chunk_bytes_ + seal_.tag_bytes();
}

void Outbox::use_chunks_of(std::uint32_t bytes) {
    chunk_bytes_ = bytes;
    train_packets_max_ =
        std::clamp<std::size_t>(kTrainBytesMax / packet_bytes_max(), 1, kTrainPacketsMax);
}

void Outbox::add(core::SendBatch&& batch, std::uint32_t chunk_bytes) {
    if (chunk_bytes != chunk_bytes_) {
        use_chunks_of(chunk_bytes);
    }
    for (core::Send& send : batch.sends) {
        queue_.push_back(std::move(send));
    }
    batch.sends.clear();
    batch.packets = 0;
}

Result<Sent> Outbox::flush() {
    while (!is_empty()) {
        if (trains_.empty()) {
            build_trains();
        }
        std::array<Train, kTogetherMax> trains;
        std::ranges::transform(trains_, trains.begin(), [this](const Sealed& one) {
            return Train{.target = one.target,
                         .pieces = std::span{pieces_}.subspan(one.first_piece, one.pieces),
                         .bytes = one.bytes,
                         .packet_bytes = one.packet_bytes};
        });
        const auto sent = driver_.send_together(std::span{trains}.first(trains_.size()));
        if (!sent) {
            return sent.error();
        }
        trains_.erase(trains_.begin(), trains_.begin() + static_cast<std::ptrdiff_t>(*sent));
        if (!trains_.empty()) {
            return Sent::would_block;
        }
    }
    return Sent::all;
}

bool Outbox::needs(BlockIndex block) const {
    const auto is_of_it = [block](const core::Send& send) {
        return send.type == wire::PacketType::data && send.block == block;
    };
    return std::ranges::any_of(trains_,
                               [block](const Sealed& one) { return one.block == block; }) ||
           std::ranges::any_of(queue_, is_of_it);
}

/// What the next train takes of the room, at most.
std::size_t Outbox::next_bytes_max() const {
    const core::Send& send = queue_.front();
    const std::size_t around = wire::kHeaderBytes + seal_.tag_bytes();
    if (send.type != wire::PacketType::data) {
        return send.count * (around + send.body.size());
    }
    const std::size_t packets =
        std::min<std::size_t>(send.count - sent_of_front_, train_packets_max_);
    const bool is_copied = seal_.protection() == seal::Protection::encrypt;
    return packets * (is_copied ? packet_bytes_max() : around);
}

void Outbox::build_trains() {
    room_.clear();
    pieces_.clear();
    do {
        build_train();
    } while (!queue_.empty() && trains_.size() < kTogetherMax && next_bytes_max() <= room());
}

/// The front entry, or as many of its packets as one train takes.
void Outbox::build_train() {
    const core::Send& send = queue_.front();
    trains_.push_back({.target = target_of(send), .block = {}, .first_piece = pieces_.size()});
    Sealed& train = trains_.back();
    if (send.type != wire::PacketType::data) {
        for (std::uint16_t copy = 0; copy < send.count; ++copy) {
            write_packet(send, copy, send.body);
        }
        train.packet_bytes = static_cast<std::uint32_t>(train.bytes / send.count);
        queue_.pop_front();
        return;
    }
    train.block = send.block;
    const auto end = static_cast<std::uint16_t>(
        std::min<std::size_t>(send.count, sent_of_front_ + train_packets_max_));
    for (std::uint16_t index = sent_of_front_; index < end; ++index) {
        write_packet(send, index, payload(send, index));
        if (index == sent_of_front_) {
            train.packet_bytes = static_cast<std::uint32_t>(train.bytes);
        }
    }
    sent_of_front_ = end;
    if (end == send.count) {
        queue_.pop_front();
        sent_of_front_ = 0;
    }
}

TrainTarget Outbox::target_of(const core::Send& send) {
    TrainTarget target{.to_group = send.to.to_group, .peer = send.to.peer, .flow = {}};
    if (send.to.to_group) {
        target.flow = take_flow();
    }
    return target;
}

/// The next one in turn that leaves this host; any where none does.
Flow Outbox::take_flow() {
    Flow flow{next_flow_};
    for (std::uint8_t tried = 0; tried < flows_; ++tried) {
        flow = Flow{next_flow_};
        next_flow_ = static_cast<std::uint8_t>((next_flow_ + 1) % flows_);
        if (driver_.carries(flow)) {
            break;
        }
    }
    return flow;
}

Bytes Outbox::payload(const core::Send& send, std::uint16_t index) {
    const Bytes block = blocks_.filled(send.block);
    const std::size_t offset = (send.first.index() + index) * std::size_t{chunk_bytes_};
    invariant(offset < block.size(), "a chunk lies within its block");
    return block.subspan(offset,
                         std::min<std::size_t>(send.length > 0 ? send.length : chunk_bytes_,
                                               block.size() - offset));
}

void Outbox::write_packet(const core::Send& send, std::uint16_t index, Bytes body) {
    const wire::Header header{
        .version = seal_.version(),
        .type = send.type,
        .flags = send.flags,
        .flow = trains_.back().target.flow,
        .session = config_.session,
        .rank = config_.own,
        .packet_number = send.packet_number + index,
        .block = send.block,
        .chunk = ChunkIndex{static_cast<std::uint16_t>(send.first.value() + index)},
    };
    // A control packet's body goes with its Send: it is copied, as what is sealed is.
    const bool is_copied = seal_.protection() == seal::Protection::encrypt || !header.is_data();
    const std::size_t room_bytes = is_copied ? body.size() : 0;
    const std::size_t start = room_.size();
    const std::size_t tag = seal_.tag_bytes();
    invariant(wire::kHeaderBytes + room_bytes + tag <= room(), "a train's room never moves");
    room_.resize(start + wire::kHeaderBytes + room_bytes + tag);
    const MutableBytes packet = MutableBytes{room_}.subspan(start);
    const MutableBytes head = packet.first(wire::kHeaderBytes);
    const MutableBytes room = packet.subspan(wire::kHeaderBytes, room_bytes);
    wire::write_header(header, head);
    if (is_copied && seal_.protection() != seal::Protection::encrypt) {
        std::ranges::copy(body, room.begin());
        body = room;
    }
    seal_.seal(header.packet_number, head, body, room, packet.last(tag));
    add_piece(head);
    add_piece(is_copied ? Bytes{room} : body);
    add_piece(packet.last(tag));
}

/// What follows the train's last piece in memory lengthens it.
void Outbox::add_piece(Bytes piece) {
    Sealed& train = trains_.back();
    train.bytes += piece.size();
    if (train.pieces > 0 && pieces_.back().data() + pieces_.back().size() == piece.data()) {
        pieces_.back() = {pieces_.back().data(), pieces_.back().size() + piece.size()};
    } else {
        pieces_.push_back(piece);
        ++train.pieces;
    }
}

}  // namespace stage
