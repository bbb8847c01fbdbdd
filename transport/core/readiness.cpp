#include "transport/core/readiness.h"

#include <algorithm>

namespace stage::core {

Readiness::Readiness(const CoreConfig& config, const ObjectShape& shape, const Limits& limits)
    : config_{config},
      shape_{shape},
      parities_{parities_for(config, shape, limits.parity)},
      path_patience_{limits.ending.path_patience},
      ready_{config.members},
      holders_{config.members},
      offers_{{.first = limits.ending.offer_first,
               .max = limits.ending.offer_max,
               .even = limits.ending.offer_even}},
      round_trip_{{.first = limits.repair.timeout_first,
                   .margin_min = limits.repair.timeout_margin_min,
                   .max = limits.repair.timeout_max}} {
    ready_.add(config.own);
}

void Readiness::start(Instant now) {
    started_at_ = now;
    offers_.start(now);
}

void Readiness::start_again(Instant now, const Readiness& before) {
    started_at_ = before.started_at_;
    counts_from_us_ = time_us(now);
    offers_.start(now);
}

bool Readiness::should_be_careful(Instant now) const {
    return config_.chunk_bytes_careful > 0 && !is_complete() &&
           now >= started_at_ + path_patience_;
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
                           .features = 0};
    std::vector<std::byte> packet = wire::write(body);
    packet.resize(std::max<std::size_t>(packet.size(), config_.chunk_bytes));
    return packet;
}

void Readiness::on_ready(Instant now, Rank from, const wire::Ready& body, bool holds) {
    if (body.source_time_us < counts_from_us_) {
        return;
    }
    ready_.add(from);
    if (holds && from != config_.own) {
        holders_.add(from);
    }
    const std::uint64_t now_us = time_us(now);
    const std::uint64_t spent_us = body.source_time_us + body.hold_us;
    if (body.source_time_us > 0 && spent_us <= now_us) {
        round_trip_.on_sample(std::chrono::microseconds{now_us - spent_us});
    }
    if (is_complete()) {
        offers_.stop();
    }
}

void Readiness::poll(Instant now, ControlQueue& out) {
    if (offers_.is_due(now)) {
        out.push_group(wire::PacketType::offer, offer(now));
    }
}

std::optional<Accusation> Readiness::accuse(Instant now) const {
    if (is_complete() || now < started_at_ + config_.ready_timeout) {
        return std::nullopt;
    }
    const std::uint32_t others = ready_.members() - ready_.count() - 1;
    std::string why =
        "no datagram passes between the source and this node, though all were wired up: the "
        "switches don't forward the multicast group, or packets of the interfaces' MTU; the "
        "data ports are closed; or stagecast ended there";
    if (others > 0) {
        why += " (and " + std::to_string(others) + " more nodes)";
    }
    return Accusation{.rank = *ready_.first_absent(), .why = std::move(why)};
}

std::optional<Instant> Readiness::deadline() const {
    return is_complete() ? std::nullopt
                         : earlier(offers_.deadline(), started_at_ + config_.ready_timeout);
}

}  // namespace stage::core
