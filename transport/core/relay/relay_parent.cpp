#include "transport/core/relay/relay_parent.h"

#include "transport/core/base/repeater.h"

#include <algorithm>
#include <utility>

namespace stage::core {

RelayParent::RelayParent(const CoreConfig& config,
                         const RelayLimits& limits,
                         const RelayTree& tree)
    : limits_{limits},
      tree_{tree},
      own_place_{tree.place(config.own)},
      place_{tree.parent(own_place_)},
      rank_{tree.at(place_)},
      retry_{limits.retry_first} {
}

void RelayParent::start(Instant now) {
    heard_at_ = now;
    connect_at_ = now;
}

bool RelayParent::on_packet(Instant now, Rank from) {
    if (from != rank_ || !is_connected_) {
        return false;
    }
    heard_at_ = now;
    is_heard_ = true;
    has_stood_ = true;
    silent_ = 0;
    retry_ = limits_.retry_first;
    return true;
}

void RelayParent::on_ready(Instant now, Rank child) {
    if (is_connected_ && child == rank_) {
        choose_next(now);
    }
}

void RelayParent::on_link(Instant now, const LinkEvent& event) {
    if (event.peer != rank_ || !is_connected_) {
        return;
    }
    if (event.kind == LinkEvent::Kind::closed) {
        is_refused_once() ? connect_to(rank_, now + retry_) : choose_next(now);
    } else if (event.kind == LinkEvent::Kind::narrowed) {
        connect_to(rank_, now);
    } else {
        has_stood_ = true;
        round_trip_ = std::max(round_trip_, event.round_trip);
    }
}

/// True if the source did not take the first connection: one refusal can be chance, and where
/// the ancestors before it were silent no time is left for another round.
bool RelayParent::is_refused_once() {
    return place_ == 0 && !has_stood_ && !std::exchange(was_refused_, true);
}

void RelayParent::leave(Instant now) {
    left_ = rank_;
    choose_next(now);
}

void RelayParent::step_aside(Instant now) {
    left_ = rank_;
    is_aside_ = true;
    place_ = tree_.members;
    choose_next(now);
}

/// The next ancestor at once; after the source the parent again, later. (If ancestors were
/// silent, one that is further up.)
void RelayParent::choose_next(Instant now) {
    Instant at = now;
    if (place_ == 0) {
        has_tried_all_ = true;
        place_ = is_aside_ ? tree_.members : own_place_;
        at = now + retry_;
        retry_ = std::min(retry_ * 2, limits_.retry_max);
        silent_ = 0;
    }
    for (std::uint64_t left = silent_ < 2 ? 1 : 1ULL << (silent_ - 1); left > 0; --left) {
        place_ = tree_.parent(place_);
        if (place_ == own_place_) {
            place_ = tree_.parent(place_);
        }
        if (place_ == 0) {
            break;
        }
    }
    connect_to(tree_.at(place_), at);
}

void RelayParent::connect_to(Rank rank, Instant at) {
    is_connected_ = false;
    is_heard_ = false;
    pulse_at_.reset();
    connect_at_ = at;
    rank_ = rank;
}

Instant RelayParent::silent_at() const {
    return std::max(heard_at_, tried_at_) + limits_.silence + limits_.round_trips * round_trip_;
}

void RelayParent::poll(Instant now, ControlQueue& out) {
    if (is_connected_ && now >= silent_at()) {
        silent_ += is_heard_ ? 0 : 1;
        leave(now);
    }
    if (connect_at_ && now >= *connect_at_) {
        connect_at_.reset();
        is_connected_ = true;
        tells_connected_ = true;
        connect_ = rank_;
        tried_at_ = now;
        pulse_at_ = now;
        out.push(wire::PacketType::ready, where(), wire::write(wire::Ready{}));
    }
}

void RelayParent::hurry(Instant now) {
    if (pulse_at_) {
        pulse_at_ = std::min(*pulse_at_, std::max(now, pulsed_at_ + limits_.pulse_min));
    }
}

bool RelayParent::take_pulse(Instant now) {
    const bool is_due = pulse_at_ && now >= *pulse_at_;
    if (is_due) {
        pulsed_at_ = now;
        pulse_at_ = now + limits_.pulse;
    }
    return is_due;
}

bool RelayParent::take_connected() {
    return std::exchange(tells_connected_, false);
}

std::optional<Destination> RelayParent::take_connect() {
    const auto rank = std::exchange(connect_, std::nullopt);
    return rank ? std::optional{where(*rank)} : std::nullopt;
}

std::optional<Destination> RelayParent::take_left() {
    const auto rank = std::exchange(left_, std::nullopt);
    return rank ? std::optional{where(*rank)} : std::nullopt;
}

std::optional<Instant> RelayParent::deadline() const {
    auto first = earlier(connect_at_, pulse_at_);
    if (is_connected_) {
        first = earlier(first, silent_at());
    }
    return first;
}

void RelayParent::give_up() {
    if (is_connected_) {
        left_ = rank_;
    }
    stop();
}

void RelayParent::stop() {
    connect_at_.reset();
    pulse_at_.reset();
    is_connected_ = false;
}

}  // namespace stage::core
