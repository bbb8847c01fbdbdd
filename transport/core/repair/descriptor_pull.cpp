#include "transport/core/repair/descriptor_pull.h"

#include "transport/core/base/repeater.h"

#include <algorithm>

namespace stage::core {
namespace {

constexpr std::size_t kGapsMax = 8;

}  // namespace

void DescriptorPull::on_describe(Rank from, bool to_group) {
    const bool answers_open = asked_ && asked_->peer == from;
    if (!answers_open && (to_group || late_ != from)) {
        return;
    }
    asked_.reset();
    late_.reset();
    failures_ = 0;
    ask_after_ = kLongAgo;
    helper_ = from;
}

void DescriptorPull::on_lacking(Rank from, std::uint32_t id) {
    if (asked_ && asked_->peer == from && asked_->id == id) {
        on_failure();
    }
}

void DescriptorPull::on_failure() {
    asked_.reset();
    helper_.reset();
    ++failures_;
}

void DescriptorPull::poll(Instant now,
                          DescriptorTable& table,
                          std::uint32_t below,
                          Puller& puller,
                          ControlQueue& out) {
    if (asked_) {
        // The RTT may have been unknown when it was requested.
        asked_->expires_at =
            std::min(asked_->expires_at,
                     asked_->sent_at + puller.round_trip().timeout(failures_, puller.margin()));
    }
    if (asked_ && now >= asked_->expires_at) {
        puller.peers().on_timeout(now, asked_->peer);
        late_ = asked_->peer;
        on_failure();
        ask_after_ = now;
    }
    below = std::min(below, table.horizon());
    std::uint32_t block = table.first_unknown();
    is_wanting_ = block < below;
    if (!is_wanting_ || asked_ || now < ask_after_) {
        return;
    }
    wire::Request body;
    while (block < below && body.runs.size() < kGapsMax) {
        body.runs.push_back({.block = BlockIndex{block}, .first = 0, .count = 0});
        const auto end = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(std::uint64_t{block} + wire::kMaxDescriptors, below));
        while (block < end && !table.knows(BlockIndex{block})) {
            ++block;
        }
        block = table.first_unknown(block, below);
    }
    const bool ask_source = failures_ >= limits_.failures_before_source;
    const Rank peer = helper_      ? *helper_
                      : ask_source ? puller.peers().source()
                                   : puller.peers().draw(now, {}, false);
    body.id = puller.draw_id();
    const Duration timeout = puller.round_trip().timeout(failures_, puller.margin());
    asked_ = {.id = body.id, .peer = peer, .sent_at = now, .expires_at = now + timeout};
    ask_after_ = now + (failures_ > 0 ? timeout / 4 : Duration::zero());
    out.push_peer(wire::PacketType::request, peer, wire::write(body));
}

std::optional<Instant> DescriptorPull::deadline() const {
    if (asked_) {
        return asked_->expires_at;
    }
    return is_wanting_ ? std::optional{ask_after_} : std::nullopt;
}

}  // namespace stage::core
