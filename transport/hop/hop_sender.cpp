#include "transport/hop/hop_sender.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <chrono>

namespace stage::hop {
namespace {

/// Later pieces that have arrived when one is lost: fewer are out of order (RFC 9002, 6.1.1).
constexpr std::uint64_t kReordered = 3;
/// An acknowledgement is delayed by its sender at most so long (hop_receiver.h), and by its
/// host's clock.
constexpr Duration kAckDelayMax = std::chrono::milliseconds{30};
constexpr Duration kVariationMin = std::chrono::milliseconds{1};
constexpr std::uint32_t kTimeoutsDoubledMax = 6;
constexpr std::uint32_t kProbes = 2;
/// What leaves at one wake-up, as time at the present rate; and what a late wake-up makes up.
constexpr Duration kBurst = std::chrono::milliseconds{1};
constexpr Duration kLateMax = std::chrono::milliseconds{4};
/// Long datagrams that chance does not lose while short ones arrive.
constexpr std::uint32_t kNarrowLosses = 8;
/// At the end of a connection.
constexpr std::uint32_t kLastPieces = 64;

bool has_order(Bytes message) {
    return std::ranges::any_of(message.first(kOrderBytes),
                               [](std::byte octet) { return octet != std::byte{}; });
}

}  // namespace

void HopSender::begin(Instant now, std::size_t datagram_bytes, Duration round_trip) {
    datagram_bytes_ = datagram_bytes;
    rate_.emplace(static_cast<std::uint32_t>(datagram_bytes), rate_max_);
    rate_->begin(now, round_trip);
    smoothed_ = round_trip;
    variation_ = round_trip / 2;
    paced_at_ = now;
    for (auto& [number, message] : messages_) {
        message.count = static_cast<std::uint8_t>((message.bytes.size() + piece_bytes() - 1) /
                                                  piece_bytes());
    }
}

void HopSender::push(std::vector<std::byte> message) {
    const std::size_t count = (message.size() + piece_bytes() - 1) / piece_bytes();
    invariant(count >= 1 && count <= kPiecesMax, "a message has 1 to 64 pieces");
    backlog_ += message.size();
    fresh_.push_back({.message = next_message_});
    messages_.emplace(
        next_message_++,
        Message{.bytes = std::move(message), .count = static_cast<std::uint8_t>(count)});
}

std::vector<std::vector<std::byte>> HopSender::take_back() {
    invariant(next_number_ == 0, "nothing has left");
    std::vector<std::vector<std::byte>> all;
    for (auto& [number, message] : messages_) {
        all.push_back(std::move(message.bytes));
    }
    messages_.clear();
    fresh_.clear();
    backlog_ = 0;
    return all;
}

void HopSender::end() {
    lose(last_sent_at_, flying_.begin(), flying_.end());
    std::erase_if(messages_, [](const auto& each) { return !has_order(each.second.bytes); });
    std::erase_if(fresh_,
                  [this](const PieceOf& piece) { return !messages_.contains(piece.message); });
    free_ = kLastPieces;
}

// ---- what leaves

/// A burst begins when the rate allows it, and goes on for kBurst.
bool HopSender::may_leave(Instant now) {
    if (!rate_ || (free_ == 0 && in_flight_ + datagram_bytes_ > rate_->window())) {
        return false;
    }
    if (paced_at_ <= now) {
        paced_at_ = std::max(paced_at_, now - kLateMax);
        is_bursting_ = true;
    } else if (paced_at_ >= now + kBurst) {
        is_bursting_ = false;
    }
    return is_bursting_ || free_ > 0;
}

/// A lost one first; one that has arrived after all is left out.
std::optional<HopSender::PieceOf> HopSender::next_piece() {
    while (!lost_.empty()) {
        const PieceOf piece = lost_.front();
        lost_.pop_front();
        const auto found = messages_.find(piece.message);
        if (found != messages_.end() && (found->second.arrived >> piece.index & 1U) == 0) {
            ++repeats_;
            return piece;
        }
    }
    if (fresh_.empty()) {
        return std::nullopt;
    }
    const PieceOf piece = fresh_.front();
    const Message& message = messages_.at(piece.message);
    const std::size_t left = message.bytes.size() - piece.index * piece_bytes();
    backlog_ -= std::min(left, piece_bytes());
    if (++fresh_.front().index == message.count) {
        fresh_.pop_front();
    }
    return piece;
}

std::size_t HopSender::next(Instant now, std::uint64_t to, MutableBytes out) {
    const auto piece = may_leave(now) ? next_piece() : std::nullopt;
    if (!piece) {
        if (rate_ && in_flight_ + datagram_bytes_ <= rate_->window() && fresh_.empty()) {
            limited_until_ = std::max<std::uint64_t>(delivered_ + in_flight_, 1);
        }
        return 0;
    }
    const Message& message = messages_.at(piece->message);
    const Bytes payload = Bytes{message.bytes}.subspan(piece->index * piece_bytes());
    const std::size_t length = std::min(payload.size(), piece_bytes());
    write_piece_head({.to = to,
                      .number = static_cast<std::uint32_t>(next_number_),
                      .message = piece->message,
                      .index = piece->index,
                      .count = message.count},
                     out);
    std::ranges::copy(payload.first(length), out.begin() + kPieceHeadBytes);
    const std::size_t bytes = kPieceHeadBytes + length;
    if (flying_.empty()) {
        first_sent_at_ = now;
        delivered_at_ = now;
    }
    flying_.emplace_hint(flying_.end(),
                         next_number_++,
                         Flying{.piece = *piece,
                                .bytes = static_cast<std::uint32_t>(bytes),
                                .sent_at = now,
                                .delivered = delivered_,
                                .delivered_at = delivered_at_,
                                .first_sent_at = first_sent_at_,
                                .is_source_limited = limited_until_ > delivered_});
    charge(now, bytes);
    return bytes;
}

void HopSender::charge(Instant now, std::size_t bytes) {
    in_flight_ += bytes;
    last_sent_at_ = now;
    free_ -= free_ > 0 ? 1 : 0;
    paced_at_ = std::max(paced_at_, now - kLateMax) + time_of(bytes, rate_->bytes_per_s());
}

// ---- what has arrived

void HopSender::on_ack(Instant now, const Ack& ack) {
    if (!rate_ || next_number_ == 0) {
        return;
    }
    const std::uint64_t largest = expand(next_number_ - 1, ack.largest);
    if (largest >= next_number_) {
        return;  // Nothing with this number was sent.
    }
    const auto newest = flying_.find(largest);
    const std::optional<Flying> fresh =
        newest != flying_.end() ? std::optional{newest->second} : std::nullopt;
    Delivery delivery;
    std::uint64_t end = largest + 1;
    for (const AckRun& run : ack.runs) {
        end -= std::min<std::uint64_t>(end, run.missing);
        const std::uint64_t first = end - std::min<std::uint64_t>(end, run.present);
        auto at = flying_.lower_bound(first);
        while (at != flying_.end() && at->first < end) {
            arrived(now, at->second, delivery);
            at = flying_.erase(at);
        }
        end = first;
    }
    largest_arrived_ = std::max(largest_arrived_.value_or(largest), largest);
    if (fresh) {
        measure(now, *fresh, ack.delay_us);
        delivery.round_trip = now - fresh->sent_at;
    }
    find_lost(now);
    if (delivery.delivered > 0) {
        timeouts_ = 0;
        delivery.delivered = delivered_;
        delivery.lost = lost_bytes_;
        delivery.in_flight = in_flight_;
        rate_->on_delivery(now, delivery);
    }
}

/// Also notes what the newest of the pieces says of the rate (draft-cheng-iccrg-delivery-rate-
/// estimation, 3.3).
void HopSender::arrived(Instant now, const Flying& flying, Delivery& delivery) {
    in_flight_ -= flying.bytes;
    delivered_ += flying.bytes;
    long_lost_ = flying.bytes > kShortDatagram ? 0 : long_lost_;
    delivered_at_ = now;
    if (flying.delivered >= delivery.delivered_before) {
        delivery.delivered = delivered_;
        delivery.delivered_before = flying.delivered;
        delivery.interval =
            std::max(flying.sent_at - flying.first_sent_at, now - flying.delivered_at);
        delivery.is_source_limited = flying.is_source_limited;
        first_sent_at_ = flying.sent_at;
    }
    const auto found = messages_.find(flying.piece.message);
    if (found == messages_.end()) {
        return;
    }
    Message& message = found->second;
    message.arrived |= std::uint64_t{1} << flying.piece.index;
    const std::uint64_t all = ~std::uint64_t{0} >> (kPiecesMax - message.count);
    if (message.arrived == all) {
        messages_.erase(found);
    }
}

void HopSender::measure(Instant now, const Flying& newest, std::uint32_t delay_us) {
    const Duration delay =
        std::min<Duration>(std::chrono::microseconds{delay_us}, kAckDelayMax);
    const Duration raw = now - newest.sent_at;
    const Duration sample = std::max(raw - delay, rate_->round_trip() / 2);
    const Duration error = sample > smoothed_ ? sample - smoothed_ : smoothed_ - sample;
    variation_ += (error - variation_) / 4;
    smoothed_ += (sample - smoothed_) / 8;
}

Duration HopSender::loss_delay() const {
    return std::max<Duration>(smoothed_ * 9 / 8, std::chrono::milliseconds{1});
}

void HopSender::lose(Instant now, AllFlying::iterator first, AllFlying::iterator end) {
    for (auto at = first; at != end; ++at) {
        in_flight_ -= at->second.bytes;
        lost_bytes_ += at->second.bytes;
        lost_.push_back(at->second.piece);
        if (at->second.bytes > kShortDatagram && ++long_lost_ == 1) {
            long_lost_at_ = now;
        }
    }
    flying_.erase(first, end);
}

bool HopSender::is_narrowed(Instant now, Duration least) const {
    return long_lost_ >= kNarrowLosses && delivered_at_ > long_lost_at_ &&
           now >= long_lost_at_ + std::max(least, 3 * smoothed_);
}

void HopSender::pause(Instant until) {
    paced_at_ = std::max(paced_at_, until);
    is_bursting_ = false;
}

void HopSender::find_lost(Instant now) {
    loss_at_.reset();
    auto at = flying_.begin();
    for (; at != flying_.end() && largest_arrived_ && at->first < *largest_arrived_; ++at) {
        const bool is_overtaken = at->first + kReordered <= *largest_arrived_;
        if (!is_overtaken && now < at->second.sent_at + loss_delay()) {
            loss_at_ = at->second.sent_at + loss_delay();
            break;
        }
    }
    lose(now, flying_.begin(), at);
}

std::optional<Instant> HopSender::probe_at() const {
    if (flying_.empty()) {
        return std::nullopt;
    }
    const Duration once = smoothed_ + std::max(4 * variation_, kVariationMin) + kAckDelayMax;
    return last_sent_at_ + once * (std::int64_t{1} << std::min(timeouts_, kTimeoutsDoubledMax));
}

void HopSender::on_time(Instant now) {
    if (loss_at_ && now >= *loss_at_) {
        find_lost(now);
    }
    if (const auto probe = probe_at(); probe && now >= *probe) {
        ++timeouts_;
        const auto oldest = flying_.begin();
        lose(now,
             oldest,
             std::next(oldest, std::min<std::ptrdiff_t>(kProbes, std::ssize(flying_))));
        free_ = std::max(free_, kProbes);
    }
}

std::optional<Instant> HopSender::deadline() const {
    std::optional<Instant> first = probe_at();
    const auto earlier = [&first](Instant at) { first = std::min(first.value_or(at), at); };
    if (loss_at_) {
        earlier(*loss_at_);
    }
    const bool has_room =
        rate_ && (free_ > 0 || in_flight_ + datagram_bytes_ <= rate_->window());
    if (has_room && !(lost_.empty() && fresh_.empty())) {
        earlier(paced_at_);
    }
    return first;
}

}  // namespace stage::hop
