#include "transport/hop/hop_link.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"

#include <chrono>
#include <utility>

namespace stage::hop {
namespace {

/// Both ends send at least each 250 ms (RelayLimits::pulse): twice that, and a delay; and three
/// RTTs, in which what was lost comes again.
constexpr Duration kSilence = std::chrono::milliseconds{600};
constexpr int kSilentRoundTrips = 3;

std::size_t put(Bytes datagram, MutableBytes out) {
    std::ranges::copy(datagram, out.begin());
    return datagram.size();
}

}  // namespace

void HopLink::begin(Instant now, const Standing& standing) {
    standing_ = standing;
    heard_at_ = now;
    sender_.begin(now, standing.datagram_bytes, standing.round_trip);
    receiver_.begin(standing.datagram_bytes, standing.round_trip);
}

void HopLink::push(Bytes packet, bool has_order) {
    ByteWriter message;
    message.u32(has_order ? ++orders_ : 0).raw(packet);
    sender_.push(message.take());
}

void HopLink::on_datagram(Instant now, Kind kind, Bytes datagram) {
    if (!stands()) {
        return;
    }
    if (kind == Kind::piece) {
        if (const auto piece = read_piece(datagram)) {
            receiver_.on_piece(now, *piece);
        }
    } else if (kind == Kind::ack) {
        if (const auto ack = read_ack(datagram)) {
            sender_.on_ack(now, *ack);
        }
    } else if (kind == Kind::bye) {
        has_gone_ = true;
    }
    heard_at_ = now;
    is_heard_ = true;
}

std::size_t HopLink::next(Instant now, MutableBytes out) {
    invariant(out.size() >= kLongDatagram, "a datagram has its room");
    if (!stands()) {
        return 0;
    }
    if (const auto due = receiver_.ack_at(); due && *due <= now) {
        return put(write_ack(receiver_.take_ack(now, standing_->to)), out);
    }
    // (The other end knows of this one only when a CONFIRM has arrived: one goes before each
    // piece until it is heard.)
    if (standing_->is_dialler && !is_heard_ && is_confirm_due_ && sender_.may_send(now)) {
        is_confirm_due_ = false;
        const auto us =
            std::chrono::duration_cast<std::chrono::microseconds>(standing_->round_trip);
        return put(write_confirm({.listener = standing_->to,
                                  .dialler = own_,
                                  .round_trip_us = static_cast<std::uint32_t>(us.count()),
                                  .datagram_bytes =
                                      static_cast<std::uint16_t>(standing_->datagram_bytes)}),
                   out);
    }
    const std::size_t bytes = sender_.next(now, standing_->to, out);
    is_confirm_due_ = is_confirm_due_ || bytes > 0;
    if (bytes == 0 && std::exchange(is_bye_due_, false)) {
        return put(write_bye(standing_->to), out);
    }
    return bytes;
}

std::optional<Instant> HopLink::deadline() const {
    if (!stands()) {
        return std::nullopt;
    }
    Instant first = silent_at();
    for (const auto& at : {receiver_.ack_at(), sender_.deadline()}) {
        first = std::min(first, at.value_or(first));
    }
    return first;
}

bool HopLink::is_over(Instant now) const {
    return has_gone_ || is_silent(now) || sender_.is_narrowed(now, kSilence);
}

Instant HopLink::silent_at() const {
    return heard_at_ + kSilence + kSilentRoundTrips * sender_.round_trip();
}

void HopLink::end() {
    sender_.end();
    is_bye_due_ = true;
}

}  // namespace stage::hop
