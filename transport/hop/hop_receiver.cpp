#include "transport/hop/hop_receiver.h"

#include "transport/base/codec.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage::hop {
namespace {

constexpr Duration kAckDelayMax = std::chrono::milliseconds{25};
constexpr Duration kAckDelayMin = std::chrono::milliseconds{1};
constexpr int kAcksOfRoundTrip = 4;
constexpr std::uint32_t kPiecesOfAck = 64;
/// Runs of numbers that are remembered: what is forgotten counts as lost, and comes again.
constexpr std::size_t kRunsKept = 1024;
/// Bytes of messages that are not given on yet. A member requests fewer; what a broken one
/// sends beyond that is as if it had not arrived.
constexpr std::size_t kHeldMax = std::size_t{64} << 20U;
/// What is held before the first message with an order: any host of a member can be the sender.
constexpr std::size_t kHeldUnproved = std::size_t{256} << 10U;
/// What remembering a message takes beside its bytes.
constexpr std::size_t kBeside = 64;
/// Messages with an order that come before their turn: a member has fewer control packets.
constexpr std::uint32_t kOrdersAhead = 1U << 14U;
/// Messages beyond the first one that is not whole: 16 KiB each, so 1 GiB. A peer that leaves
/// out numbers makes this end remember no more.
constexpr std::uint32_t kMessagesAhead = 1U << 16U;

}  // namespace

void HopReceiver::begin(std::size_t datagram_bytes, Duration round_trip) {
    piece_bytes_ = datagram_bytes - kPieceHeadBytes;
    ack_delay_ = std::clamp(round_trip / kAcksOfRoundTrip, kAckDelayMin, kAckDelayMax);
}

void HopReceiver::on_piece(Instant now, const Piece& piece) {
    const bool is_last = piece.index + 1 == piece.count;
    const bool fits =
        is_last ? piece.payload.size() <= piece_bytes_ : piece.payload.size() == piece_bytes_;
    if (!fits || !has_room_for(piece)) {
        return;
    }
    const std::uint64_t number = expand(largest_, piece.number);
    if (note_number(number)) {
        if (number >= largest_) {
            largest_ = number;
            largest_at_ = now;
        }
        add(piece);
    } else {
        ++repeats_;
    }
    ++since_ack_;
    const Instant due = since_ack_ >= kPiecesOfAck ? now : now + ack_delay_;
    ack_at_ = std::min(ack_at_.value_or(due), due);
}

/// The first message that is not whole always has: all others may wait for it.
bool HopReceiver::has_room_for(const Piece& piece) const {
    if (piece.message == complete_below_ || partial_.contains(piece.message)) {
        return true;
    }
    const bool is_ahead =
        piece.message > complete_below_ && piece.message - complete_below_ > kMessagesAhead;
    const std::size_t most = next_order_ > 1 ? kHeldMax : kHeldUnproved;
    return !is_ahead && held_bytes_ + piece.count * piece_bytes_ + kBeside <= most;
}

/// False if it has arrived before.
bool HopReceiver::note_number(std::uint64_t number) {
    auto after = runs_.upper_bound(number);
    if (after != runs_.begin() && std::prev(after)->second >= number) {
        return false;
    }
    std::uint64_t last = number;
    if (after != runs_.end() && after->first == number + 1) {
        last = after->second;
        after = runs_.erase(after);
    }
    if (after != runs_.begin() && std::prev(after)->second + 1 == number) {
        std::prev(after)->second = last;
    } else {
        runs_.emplace_hint(after, number, last);
    }
    if (runs_.size() > kRunsKept) {
        runs_.erase(runs_.begin());
    }
    return true;
}

bool HopReceiver::is_complete(std::uint32_t message) const {
    return message < complete_below_ || complete_.contains(message);
}

void HopReceiver::complete(std::uint32_t message) {
    complete_.insert(message);
    while (!complete_.empty() && *complete_.begin() == complete_below_) {
        complete_.erase(complete_.begin());
        ++complete_below_;
    }
}

void HopReceiver::add(const Piece& piece) {
    if (is_complete(piece.message)) {
        ++repeats_;
        return;
    }
    const auto [found, is_new] = partial_.try_emplace(piece.message);
    Partial& partial = found->second;
    if (is_new) {
        partial.count = piece.count;
        partial.bytes.resize(piece.count * piece_bytes_);
        held_bytes_ += partial.bytes.size();
    }
    const std::uint64_t bit = std::uint64_t{1} << piece.index;
    if (piece.count != partial.count || (partial.here & bit) != 0) {
        ++repeats_;
        return;
    }
    const std::size_t from = piece.index * piece_bytes_;
    std::ranges::copy(piece.payload, partial.bytes.begin() + static_cast<std::ptrdiff_t>(from));
    if (piece.index + 1 == piece.count) {
        held_bytes_ -= partial.bytes.size() - (from + piece.payload.size());
        partial.bytes.resize(from + piece.payload.size());
    }
    partial.here |= bit;
    if (partial.here == ~std::uint64_t{0} >> (kPiecesMax - partial.count)) {
        auto message = std::move(partial.bytes);
        held_bytes_ -= message.size();
        partial_.erase(found);
        complete(piece.message);
        give(std::move(message));
    }
}

/// Those with an order in that order, and none before the first of them.
void HopReceiver::give(std::vector<std::byte> message) {
    ByteReader in{message};
    const std::uint32_t order = in.u32();
    if (!in.ok() || in.left() == 0) {
        return;
    }
    if (order != 0 && (order < next_order_ || order - next_order_ > kOrdersAhead)) {
        return;
    }
    held_bytes_ += message.size() + kBeside;
    if (order == 0) {
        (next_order_ > 1 ? whole_ : unproved_).push_back(std::move(message));
        return;
    }
    early_.insert_or_assign(order, std::move(message));
    for (auto first = early_.begin(); first != early_.end() && first->first == next_order_;
         first = early_.erase(first)) {
        whole_.push_back(std::move(first->second));
        ++next_order_;
        std::ranges::move(unproved_, std::back_inserter(whole_));
        unproved_.clear();
    }
}

void HopReceiver::take(std::vector<std::vector<std::byte>>& messages) {
    for (auto& message : whole_) {
        held_bytes_ -= message.size() + kBeside;
        messages.push_back(std::move(message));
    }
    whole_.clear();
}

Ack HopReceiver::take_ack(Instant now, std::uint64_t to) {
    const auto delay = std::chrono::duration_cast<std::chrono::microseconds>(now - largest_at_);
    Ack ack{.to = to,
            .largest = static_cast<std::uint32_t>(largest_),
            .delay_us = static_cast<std::uint32_t>(
                std::clamp<std::int64_t>(delay.count(), 0, 1'000'000))};
    std::uint64_t below = largest_ + 1;
    for (auto run = runs_.rbegin(); run != runs_.rend() && ack.runs.size() < kRunsMax; ++run) {
        ack.runs.push_back(
            {.missing = static_cast<std::uint32_t>(below - run->second - 1),
             .present = static_cast<std::uint32_t>(run->second - run->first + 1)});
        below = run->first;
    }
    ack_at_.reset();
    since_ack_ = 0;
    return ack;
}

}  // namespace stage::hop
