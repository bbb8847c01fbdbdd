#include "transport/run/outbox.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

constexpr std::size_t kTrainBytesMax = 65000;  ///< Below UDP's 65,507.
constexpr std::size_t kTogetherMax = 16;       ///< Trains in one call.
constexpr std::size_t kQueuedMax = 64;         ///< Packets that wait for a full outlet.

bool is_data(const core::Send& send) {
    return send.type == wire::PacketType::data;
}

}  // namespace

Outbox::Outbox(Driver& driver,
               seal::SessionSeal& seal,
               BlockStore& blocks,
               const core::CoreConfig& config,
               std::uint8_t flows)
    : driver_{driver},
      seal_{seal},
      blocks_{blocks},
      config_{config},
      flows_{flows},
      outlets_(driver.outlets()) {
    invariant(flows >= 1 && flows <= kFlowsMax, "a flow has four bits");
    invariant(outlets_.size() <= kFlowsMax, "a driver has an outlet for each rail");
    use_chunks_of(config.chunk_bytes);
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
        queue_.push_back({.send = std::move(send)});
    }
    batch.sends.clear();
    batch.packets = 0;
}

bool Outbox::has_room() const {
    std::size_t packets = 0;
    for (const Queued& one : queue_) {
        packets += std::size_t{one.send.count} - one.sealed;
    }
    return packets < kQueuedMax;
}

bool Outbox::is_empty() const {
    return queue_.empty() && full_outlets() == 0;
}

std::uint32_t Outbox::full_outlets() const {
    std::uint32_t full = 0;
    for (std::size_t i = 0; i < outlets_.size(); ++i) {
        const Outlet& one = outlets_[i];
        full |= one.trains.trains.empty() && one.overtaking.trains.empty() ? 0U : 1U << i;
    }
    return full;
}

bool Outbox::needs(BlockIndex block) const {
    const auto is_cut_from = [block](const Sealed& one) { return one.block == block; };
    return std::ranges::any_of(queue_,
                               [block](const Queued& one) {
                                   return is_data(one.send) && one.send.block == block;
                               }) ||
           std::ranges::any_of(outlets_, [&](const Outlet& one) {
               return std::ranges::any_of(one.trains.trains, is_cut_from);
           });
}

void Outbox::drop_data(std::optional<BlockIndex> block) {
    std::erase_if(queue_, [block](const Queued& one) {
        return is_data(one.send) && (!block || one.send.block == *block);
    });
    for (Outlet& outlet : outlets_) {
        std::erase_if(outlet.trains.trains, [block](const Sealed& one) {
            return one.block && (!block || one.block == block);
        });
        if (outlet.trains.trains.empty()) {
            outlet.trains.clear();
        }
    }
}

Status Outbox::flush(Instant now) {
    const auto offer_all = [this, now]() -> Status {
        for (Outlet& outlet : outlets_) {
            if (Status offered = offer(outlet, now); !offered) {
                return offered;
            }
        }
        return {};
    };
    if (Status offered = offer_all(); !offered) {
        return offered;
    }
    while (build_trains()) {
        if (Status offered = offer_all(); !offered) {
            return offered;
        }
    }
    return {};
}

/// A stuck outlet's flows are tried again now and then.
Status Outbox::offer(Outlet& outlet, Instant now) {
    if (outlet.is_stuck && now - *outlet.refused_since >= kStuck) {
        outlet.is_stuck = false;
    }
    for (Batch* batch : {&outlet.overtaking, &outlet.trains}) {
        const std::size_t before = batch->trains.size();
        if (before == 0) {
            continue;
        }
        if (Status offered = offer(*batch); !offered) {
            return offered;
        }
        judge(outlet, *batch, before, now);
        if (!batch->trains.empty()) {
            break;
        }
    }
    return {};
}

/// What the driver took of a batch is gone; a batch of which it refused a train takes no other.
Status Outbox::offer(Batch& batch) {
    std::array<Train, kTogetherMax> trains;
    std::ranges::transform(batch.trains, trains.begin(), [&batch](Sealed& one) {
        return Train{.target = one.target,
                     .pieces = std::span{batch.pieces}.subspan(one.first_piece, one.pieces),
                     .bytes = one.bytes,
                     .packet_bytes = one.packet_bytes,
                     .packets_sent = &one.packets_sent};
    });
    TRY(const auto sent, driver_.send_together(std::span{trains}.first(batch.trains.size())));
    batch.trains.erase(batch.trains.begin(),
                       batch.trains.begin() + static_cast<std::ptrdiff_t>(sent));
    batch.is_open = false;
    if (batch.trains.empty()) {
        batch.clear();
    }
    return {};
}

/// A stuck outlet loses all that it does not take of what it is offered, and of what it holds.
void Outbox::judge(Outlet& outlet, const Batch& batch, std::size_t before, Instant now) {
    if (batch.trains.empty()) {
        outlet.refused_since.reset();
        outlet.is_stuck = false;
        return;
    }
    if (!outlet.refused_since || batch.trains.size() < before) {
        outlet.refused_since = now;
        outlet.is_stuck = false;
    }
    if (now - *outlet.refused_since >= kStuck) {
        outlet.is_stuck = true;
        outlet.refused_since = now;
    }
    if (outlet.is_stuck) {
        outlet.trains.clear();
        outlet.overtaking.clear();
    }
}

/// What the next train takes of the room, at most.
std::size_t Outbox::next_bytes_max(const Queued& next) const {
    const std::size_t around = wire::kHeaderBytes + seal_.tag_bytes();
    if (!is_data(next.send)) {
        return next.send.count * (around + next.send.body.size());
    }
    const std::size_t packets =
        std::min<std::size_t>(next.send.count - next.sealed, train_packets_max_);
    const bool is_copied = seal_.protection() == Protection::encrypt;
    return packets * (is_copied ? packet_bytes_max() : around);
}

/// Takes of all that is queued what its outlet has room for. False if that is nothing.
bool Outbox::build_trains() {
    bool any = false;
    for (auto next = queue_.begin(); next != queue_.end();) {
        while (next->sealed < next->send.count && build_train(*next)) {
            any = true;
        }
        next = next->sealed == next->send.count ? queue_.erase(next) : std::next(next);
    }
    return any;
}

/// The queued packets, or as many of them as one train takes. False if none can be built now.
bool Outbox::build_train(Queued& next) {
    TrainTarget target{.to_group = next.send.to.to_group,
                       .peer = next.send.to.peer,
                       .flow = next.send.to.flow};
    Batch* batch = target.to_group ? take_flow(target, next) : batch_for(target, next);
    if (batch == nullptr) {
        return false;
    }
    if (batch->room.capacity() == 0) {
        batch->room.reserve(kTrainBytesMax + packet_bytes_max());
        batch->pieces.reserve(kTrainPiecesMax);
    }
    batch->trains.push_back(
        {.target = target, .block = {}, .first_piece = batch->pieces.size()});
    fill_train(*batch, next);
    return true;
}

void Outbox::fill_train(Batch& batch, Queued& next) {
    const core::Send& send = next.send;
    Sealed& train = batch.trains.back();
    if (!is_data(send)) {
        for (std::uint16_t copy = 0; copy < send.count; ++copy) {
            write_packet(batch, send, copy, send.body);
        }
        train.packet_bytes = static_cast<std::uint32_t>(train.bytes / send.count);
        next.sealed = send.count;
        return;
    }
    train.block = send.block;
    const auto end = static_cast<std::uint16_t>(
        std::min<std::size_t>(send.count, next.sealed + train_packets_max_));
    for (std::uint16_t index = next.sealed; index < end; ++index) {
        write_packet(batch, send, index, payload(send, index));
        if (index == next.sealed) {
            train.packet_bytes = static_cast<std::uint32_t>(train.bytes);
        }
    }
    next.sealed = end;
}

/// Where a train of it may be added; null if that must wait.
Outbox::Batch* Outbox::batch_for(const TrainTarget& target, const Queued& next) {
    const auto takes = [&](Batch& batch) {
        const bool fits = batch.trains.empty() ||
                          (batch.trains.size() < kTogetherMax &&
                           next_bytes_max(next) <= batch.room.capacity() - batch.room.size());
        batch.is_full = batch.is_full || !fits;
        return batch.is_open && !batch.is_full;
    };
    Outlet& outlet = outlet_of(target);
    if (takes(outlet.trains)) {
        return &outlet.trains;
    }
    // (To the group a DESCRIBE and an END say that what is before them was sent.)
    const bool overtakes = !outlet.trains.is_open && !is_data(next.send) && !target.to_group &&
                           std::ranges::any_of(outlet.trains.trains, [](const Sealed& one) {
                               return one.block.has_value();
                           });
    return overtakes && takes(outlet.overtaking) ? &outlet.overtaking : nullptr;
}

/// The entry of next_flow_. With one turn for all, two packets that are repeated alternately
/// would go by one flow each, and never by the other.
std::size_t Outbox::turn_of(const core::Send& send) {
    const bool is_first_pass = is_data(send) && (send.flags & wire::kFlagRepeat) == 0;
    return is_first_pass ? 0 : static_cast<std::size_t>(send.type);
}

/// The next flow in turn that leaves this host and whose outlet has room; where none leaves,
/// any that has room. (Packets that wait for a full outlet do not go by one that is dead.)
Outbox::Batch* Outbox::take_flow(TrainTarget& target, const Queued& next) {
    std::uint8_t& turn = next_flow_.at(turn_of(next.send));
    const auto first_that = [&](const auto& is_wanted) -> Batch* {
        for (std::uint8_t tried = 0; tried < flows_; ++tried) {
            const auto flow = static_cast<std::uint8_t>((turn + tried) % flows_);
            target.flow = Flow{flow};
            Batch* const batch = batch_for(target, next);
            if (batch != nullptr && is_wanted()) {
                turn = static_cast<std::uint8_t>((flow + 1) % flows_);
                return batch;
            }
        }
        return nullptr;
    };
    if (Batch* const batch = first_that([&] { return leaves(target); })) {
        return batch;
    }
    return any_leaves() ? nullptr : first_that([] { return true; });
}

/// Packets to the group by this flow are not known to be lost.
bool Outbox::leaves(const TrainTarget& target) {
    return !outlet_of(target).is_stuck && driver_.carries(target.flow);
}

bool Outbox::any_leaves() {
    TrainTarget target{.to_group = true, .peer = {}, .flow = {}};
    for (std::uint8_t flow = 0; flow < flows_; ++flow) {
        target.flow = Flow{flow};
        if (leaves(target)) {
            return true;
        }
    }
    return false;
}

Outbox::Outlet& Outbox::outlet_of(const TrainTarget& target) {
    return outlets_[driver_.outlet_of(target)];
}

Bytes Outbox::payload(const core::Send& send, std::uint16_t index) {
    const Bytes block = blocks_.filled(send.block);
    const std::size_t offset = (send.first.index() + index) * std::size_t{chunk_bytes_};
    invariant(offset < block.size(), "a chunk lies within its block");
    return block.subspan(offset,
                         std::min<std::size_t>(send.length > 0 ? send.length : chunk_bytes_,
                                               block.size() - offset));
}

void Outbox::write_packet(Batch& batch,
                          const core::Send& send,
                          std::uint16_t index,
                          Bytes body) {
    const wire::Header header{
        .version = seal_.version(),
        .type = send.type,
        .flags = send.flags,
        .flow = batch.trains.back().target.flow,
        .session = config_.session,
        .rank = config_.own,
        .packet_number = send.packet_number + index,
        .block = send.block,
        .chunk = ChunkIndex{static_cast<std::uint16_t>(send.first.value() + index)},
    };
    // A control packet's body goes with its Send: it is copied, as what is sealed is.
    const bool is_copied = seal_.protection() == Protection::encrypt || !header.is_data();
    const std::size_t room_bytes = is_copied ? body.size() : 0;
    const std::size_t start = batch.room.size();
    const std::size_t tag = seal_.tag_bytes();
    invariant(wire::kHeaderBytes + room_bytes + tag <= batch.room.capacity() - start,
              "a train's room never moves");
    batch.room.resize(start + wire::kHeaderBytes + room_bytes + tag);
    const MutableBytes packet = MutableBytes{batch.room}.subspan(start);
    const MutableBytes head = packet.first(wire::kHeaderBytes);
    const MutableBytes room = packet.subspan(wire::kHeaderBytes, room_bytes);
    wire::write_header(header, head);
    if (is_copied && seal_.protection() != Protection::encrypt) {
        std::ranges::copy(body, room.begin());
        body = room;
    }
    seal_.seal(header.packet_number, head, body, room, packet.last(tag));
    batch.add_piece(head);
    batch.add_piece(is_copied ? Bytes{room} : body);
    batch.add_piece(packet.last(tag));
}

/// What follows the train's last piece in memory lengthens it.
void Outbox::Batch::add_piece(Bytes piece) {
    Sealed& train = trains.back();
    train.bytes += piece.size();
    if (train.pieces > 0 && pieces.back().data() + pieces.back().size() == piece.data()) {
        pieces.back() = {pieces.back().data(), pieces.back().size() + piece.size()};
    } else {
        pieces.push_back(piece);
        ++train.pieces;
    }
}

void Outbox::Batch::clear() {
    room.clear();
    pieces.clear();
    trains.clear();
    is_open = true;
    is_full = false;
}

}  // namespace stage
