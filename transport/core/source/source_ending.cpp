#include "transport/core/source/source_ending.h"

#include "transport/base/invariant.h"
#include "transport/core/membership/release.h"

#include <utility>

namespace stage::core {
namespace {

/// At most this number of members without READY gets RELEASE by unicast.
constexpr std::uint32_t kUnicastReleases = 64;

}  // namespace

SourceEnding::SourceEnding(const CoreConfig& config, const EndingLimits& limits)
    : config_{config},
      stays_{limits.answer_late},
      result_{config},
      release_{{.first = limits.ending_first, .max = limits.ending_max}},
      confirmed_{config.members} {
}

void SourceEnding::fail(Rank culprit, Blame blame, std::string why) {
    if (!released_ && result_.on_failed(culprit, Error{blame, std::move(why)})) {
        dropped_.push_back(culprit);
    }
}

const wire::Ending* SourceEnding::decide(Instant now, bool is_held) {
    const auto failure = result_.failure();
    if (released_ || (!failure && !(result_.is_success() && is_held))) {
        return nullptr;
    }
    begin(now, release_of(result_, config_));
    if (failure) {
        blame_ = failure->why.blame();
    }
    for (const DroppedMember& each : result_.dropped()) {
        confirmed_.add(each.rank);
    }
    return &*released_;
}

void SourceEnding::hand_over(Instant now) {
    invariant(!released_, "a broadcast ends once");
    begin(now, hand_over_of(config_));
}

void SourceEnding::begin(Instant now, wire::Ending release) {
    released_ = std::move(release);
    if (released_->dropped.empty()) {
        released_->unreached = runs_of(unreached_, config_);
    }
    release_.start(now);
    stays_until_ = now + stays_;
}

void SourceEnding::release_unresponsive(const RankSet& ready, ControlQueue& out) const {
    std::uint32_t alone = 0;
    for (std::uint32_t i = 0; i < config_.members && alone < kUnicastReleases; ++i) {
        const Rank rank{static_cast<std::uint16_t>(i)};
        if (!ready.has(rank) || confirmed_.has(rank)) {
            out.push_peer(wire::PacketType::release, rank, wire::write(*released_));
            ++alone;
        }
    }
}

void SourceEnding::on_late(const Datagram& datagram, ControlQueue& out) {
    if (datagram.header.type != wire::PacketType::done_ack) {
        out.push_peer(wire::PacketType::release, datagram.header.rank, wire::write(*released_));
        return;
    }
    confirmed_.add(datagram.header.rank);
    if (confirmed_.count() + 1 == config_.members) {
        stays_until_.reset();
        release_.stop();
    }
}

void SourceEnding::poll(Instant now, ControlQueue& out) {
    if (released_ && release_.is_due(now)) {
        out.push_group(wire::PacketType::release, wire::write(*released_));
        for (const Rank rank : unreached_) {
            if (!confirmed_.has(rank)) {
                out.push_peer(wire::PacketType::release, rank, wire::write(*released_));
            }
        }
    }
    if (stays_until_ && now >= *stays_until_) {
        stays_until_.reset();
        release_.stop();
    }
}

std::optional<Instant> SourceEnding::deadline() const {
    return earlier(release_.deadline(), stays_until_);
}

}  // namespace stage::core
