#include "transport/core/membership/readiness.h"

#include "transport/core/base/parity_code.h"

#include <algorithm>

namespace stage::core {
namespace {

/// An object that travels with its OFFERs does not wait for the answers, and soon DONEs arrive,
/// which need time to come up the ACK tree.
Repeater::Plan offer_plan(const CoreConfig& config,
                          const ObjectShape& shape,
                          const Limits& limits) {
    const EndingLimits& ending = limits.ending;
    const bool is_calm = goes_with_offers(config, shape, limits.parity);
    return {.first = is_calm ? ending.offer_max : ending.offer_first,
            .max = ending.offer_max,
            .even = is_calm ? 1U : ending.offer_even};
}

}  // namespace

Readiness::Readiness(const CoreConfig& config, const ObjectShape& shape, const Limits& limits)
    : config_{config},
      shape_{shape},
      parities_{parities_for(config, shape, limits.parity)},
      is_small_{core::goes_with_offers(config, shape, limits.parity)},
      path_timeout_{limits.ending.path_timeout},
      parity_{limits.parity},
      call_least_{limits.ending.call_least},
      call_gap_{limits.ending.call_least},
      call_gap_max_{limits.ending.offer_first},
      called_at_(config.chunk_bytes_fallback > 0 ? config.members : 0U),
      ready_{config.members},
      holders_{config.members},
      held_least_{shape.blocks},
      offers_{offer_plan(config, shape, limits)},
      round_trip_{{.first = limits.repair.timeout_first,
                   .margin_min = limits.repair.timeout_margin_min,
                   .max = limits.repair.timeout_max}} {
    ready_.add(config.own);
}

void Readiness::start(Instant now, Duration wait) {
    started_at_ = now;
    offers_from_ = now + wait;
    offers_.start(offers_from_);
}

void Readiness::start_again(Instant now, const Readiness& before) {
    started_at_ = before.started_at_;
    await_until_ = before.await_until_;
    counts_from_us_ = time_us(now);
    offers_.start(now);
}

std::uint64_t Readiness::time_us(Instant now) const {
    return static_cast<std::uint64_t>((now - started_at_).count() / 1000) + 1;
}

std::vector<std::byte> Readiness::offer(Instant now) const {
    const wire::Offer body{.blocks = shape_.blocks,
                           .object_bytes = shape_.object_bytes,
                           .chunk_bytes = config_.chunk_bytes,
                           .source_time_us = time_us(now),
                           .parities = parities_,
                           .awaited = awaited(),
                           .descriptors = descriptors_,
                           .representatives = representatives_};
    std::vector<std::byte> packet = wire::write(body);
    if (config_.chunk_bytes <= wire::kMaxDatagramChunkBytes) {
        packet.resize(std::max<std::size_t>(packet.size(), config_.chunk_bytes));
    }
    return packet;
}

/// Once all have answered the list names only the source's own rank.
std::vector<wire::RankRun> Readiness::awaited() const {
    return is_complete()
               ? std::vector<wire::RankRun>{{.first = config_.own, .last = config_.own}}
               : ready_.absent(wire::kMaxAwaitedRuns);
}

/// A member that starts late, or that first finishes what it holds, does not answer either. But
/// only a member that hears no OFFER continues to solicit.
void Readiness::look_at_path(Instant now, Rank caller) {
    if (caller.index() >= called_at_.size() || ready_.has(caller)) {
        return;
    }
    Instant& first = called_at_[caller.index()];
    if (first == Instant{}) {
        first = now;
    }
    is_path_narrow_ = is_path_narrow_ || now >= first + path_timeout_;
}

/// A solicitation: its sender runs and has heard no OFFER, so the next OFFER leaves sooner, one
/// for all solicitations. A member that solicited before the last OFFER left, or just then,
/// hears that one.
void Readiness::on_call(Instant now, Instant arrived, Rank from) {
    look_at_path(now, from);
    if (!ready_.has(from) && arrived >= offered_at_ + call_least_) {
        offers_.hasten(std::max(offered_at_ + call_gap_, offers_from_));
    }
}

void Readiness::on_ready(
    Instant now, Instant arrived, Rank from, const wire::Ready& body, bool holds) {
    if (body.source_time_us == 0) {
        return on_call(now, arrived, from);
    }
    if (body.source_time_us < counts_from_us_) {
        return;
    }
    ready_.add(from);
    if (holds && from != config_.own) {
        holders_.add(from);
    }
    held_least_ = holds ? held_least_ : std::min(held_least_, body.held);
    const std::uint64_t now_us = time_us(now);
    const std::uint64_t spent_us = body.source_time_us + body.hold_us;
    if (spent_us <= now_us) {
        round_trip_.on_sample(std::chrono::microseconds{now_us - spent_us});
    }
    if (is_complete()) {
        offers_.stop();
    }
}

void Readiness::leave_out(Rank rank) {
    ready_.add(rank);
    if (is_complete()) {
        offers_.stop();
    }
}

void Readiness::on_done(const std::vector<wire::RankRun>& ranks) {
    ready_.add(ranks);
    held_least_ = 0;  // (An object that travels with its OFFERs is sent as a whole.)
    if (is_complete()) {
        offers_.stop();
    }
}

void Readiness::add(Instant now, const DescriptorTable& descriptors) {
    for (std::uint32_t block = 0; block < shape_.blocks; ++block) {
        descriptors_.push_back(descriptors.at(BlockIndex{block}));
    }
    offers_from_ = now;
    offers_.start(now);
}

bool Readiness::poll(Instant now, ControlQueue& out) {
    if (!offers_.is_due(now)) {
        return false;
    }
    if (is_complete()) {
        offers_.stop();  // All answered while it was read.
    }
    has_offered_all_ = goes_with_offers();
    if (offered_at_ != Instant{}) {
        call_gap_ = std::min(2 * call_gap_, call_gap_max_);
    }
    offered_at_ = now;
    // A receiver that loses it loses all that follows it.
    out.push_group(
        wire::PacketType::offer, offer(now), goes_with_offers() ? parity_.offers : 1);
    return true;
}

/// If none of several members' answers arrived, it is the source that hears nothing.
std::optional<Accusation> Readiness::accuse(Instant now) const {
    if (is_complete() || now < latest()) {
        return std::nullopt;
    }
    const std::uint32_t absent = ready_.members() - ready_.count();
    if (absent > 1 && ready_.count() == 1) {
        return Accusation{
            .rank = config_.own,
            .why = "no datagram of the " + std::to_string(absent) +
                   " other nodes arrives here, though all were wired up: the data "
                   "ports (DataPortRange, UDP) are closed, or the network between "
                   "them fails"};
    }
    std::string why =
        "no datagram passes between the source and this node, though all were wired up: the "
        "data ports (DataPortRange, UDP) are closed in a firewall, packets of the interfaces' "
        "MTU are dropped, or stagecast ended there";
    if (absent > 1 && !config_.drops_failed) {
        why += " (and " + std::to_string(absent - 1) +
               (absent == 2 ? " more node)" : " more nodes)");
    }
    return Accusation{.rank = *ready_.first_absent(), .why = std::move(why)};
}

std::optional<Instant> Readiness::deadline() const {
    return is_complete() ? offers_.deadline() : earlier(offers_.deadline(), latest());
}

}  // namespace stage::core
