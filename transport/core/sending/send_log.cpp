#include "transport/core/sending/send_log.h"

#include "transport/base/invariant.h"
#include "transport/core/base/limits.h"

#include <algorithm>

namespace stage::core {

void SendLog::on_send(Instant now, const Send& send, std::uint64_t pace) {
    invariant(send.packet_number >= next_ && pace > 0, "packets are logged in their order");
    Entry entry;
    entry.first = send.packet_number;
    entry.count = send.count;
    entry.packet_bytes =
        send.type == wire::PacketType::data
            ? full_packet_bytes_
            : static_cast<std::uint32_t>(send.body.size()) + kWireOverheadBytes;
    // (OFFER and PULSE leave beside the stream; no receiver counts them as a part of it.)
    entry.to_group = send.to.to_group && send.type != wire::PacketType::pulse &&
                     send.type != wire::PacketType::offer;
    entry.each = stage::time_of(entry.packet_bytes, pace);
    entry.sent = now;
    entry.at = std::max(now, end_);
    entry.packets = packets_;
    entry.bytes = bytes_;
    end_ = entry.at + entry.each * entry.count;
    next_ = entry.first + entry.count;
    if (entry.to_group) {
        packets_ += entry.count;
        bytes_ += std::uint64_t{entry.count} * entry.packet_bytes;
    }
    entries_.push_back(entry);
    if (entries_.size() > sends_max_) {
        entries_.pop_front();
    }
}

const SendLog::Entry* SendLog::find(std::uint64_t number) const {
    const auto after = std::ranges::upper_bound(entries_, number, {}, &Entry::first);
    if (after == entries_.begin()) {
        return nullptr;
    }
    const Entry& entry = *std::prev(after);
    return number < entry.first + entry.count ? &entry : nullptr;
}

std::optional<SendLog::Departure> SendLog::departure(std::uint64_t number) const {
    const Entry* entry = find(number);
    if (entry == nullptr) {
        return std::nullopt;
    }
    return Departure{
        .sent = entry->sent,
        .left = entry->at + entry->each * static_cast<std::int64_t>(number - entry->first)};
}

std::uint64_t SendLog::packets_before(std::uint64_t number) const {
    const Entry* entry = find(number);
    return entry == nullptr ? 0
                            : entry->packets + (entry->to_group ? number - entry->first : 0);
}

std::optional<SendLog::Span> SendLog::span(std::uint64_t first, std::uint64_t last) const {
    const Entry* from = find(first);
    const Entry* to = find(last);
    if (from == nullptr || to == nullptr || first > last) {
        return std::nullopt;
    }
    const std::uint64_t skipped = from->to_group ? first - from->first : 0;
    const std::uint64_t taken = to->to_group ? last - to->first : 0;
    const std::uint64_t packets = (to->packets + taken) - (from->packets + skipped);
    const std::uint64_t bytes =
        (to->bytes + taken * to->packet_bytes) - (from->bytes + skipped * from->packet_bytes);
    return Span{.packets = static_cast<std::uint32_t>(packets),
                .bytes = bytes,
                .time = departure(last)->left - departure(first)->left};
}

}  // namespace stage::core
