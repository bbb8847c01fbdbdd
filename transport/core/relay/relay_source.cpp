#include "transport/core/relay/relay_source.h"

#include "transport/base/invariant.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/release.h"

#include <algorithm>
#include <utility>

namespace stage::core {

RelaySource::RelaySource(const CoreConfig& config,
                         const ObjectShape& shape,
                         const Relay& relay,
                         RelayLimits limits)
    : config_{with_default_timeouts(config)},
      limits_{scaled(limits, config_)},
      shape_{shape},
      control_{control_max(config_)},
      stock_{config_, shape_, limits_},
      result_{config_},
      progress_{config_,
                ending_,
                {.members = config_.members, .source = config_.source, .relay = relay},
                shape_.blocks} {
    invariant(config_.own == config_.source && config_.own.value() < config_.members &&
                  shape_.blocks >= 1 && shape_.blocks <= kBlocksMax && config_.members >= 2 &&
                  config_.resident_blocks >= 2,
              "a source has an object, a group of two or more, and room for two blocks");
    outcome_.chunk_bytes = config_.chunk_bytes;
    for (std::uint32_t stripe = 0; stripe < relay.stripes(); ++stripe) {
        const RelayTree tree{.members = config_.members,
                             .source = config_.source,
                             .relay = relay,
                             .stripe = stripe};
        stripes_.emplace_back(config_, flow_of(tree), limits_, stock_, stock_.pool());
    }
}

void RelaySource::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        on_datagram(now, datagram);
    }
    work(now);
}

void RelaySource::on_links(Instant now, std::span<const LinkEvent> events) {
    for (const LinkEvent& event : events) {
        on_link(now, event);
    }
    work(now);
}

void RelaySource::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& done : completions) {
        on_completion(now, done);
    }
    work(now);
}

void RelaySource::on_abort(Instant now, const Error& why) {
    fail(config_.own, why);
    work(now);
}

// ---- received packets and completed operations

void RelaySource::on_datagram(Instant now, const Datagram& datagram) {
    using wire::PacketType;
    const Rank from = datagram.header.rank;
    const std::size_t flow = datagram.header.flow.index();
    if (flow >= stripes_.size() && !datagram.header.is_data()) {
        operations_.push_link(OperationKind::hang_up,
                              {.peer = from, .flow = datagram.header.flow});
        return;
    }
    RelayChildren& children = stripes_[flow < stripes_.size() ? flow : 0];
    children.on_heard(now, from);
    switch (datagram.header.type) {
        case PacketType::data:
            return operations_.push_drop(datagram.lease);
        case PacketType::ready:
            return on_ready(now, children, from);
        case PacketType::request:
            if (const auto body = wire::read_request(datagram.body)) {
                on_request(now, children, from, *body);
            }
            return;
        case PacketType::done:
            if (const auto body = wire::read_done(datagram.body)) {
                on_child_done(now, *body);
            }
            return;
        case PacketType::pulse:
            if (const auto body = wire::read_pulse(datagram.body); body && flow == 0) {
                on_pulse(now, from, *body);
            }
            return;
        case PacketType::leave:
            if (const auto body = wire::read_ending(datagram.body)) {
                on_leave(now, *body);
            }
            return;
        case PacketType::done_ack:
            return released_ ? children.on_confirmed(from) : void();
        default:
            return;  // not of a relay, or for receivers
    }
}

void RelaySource::on_ready(Instant now, RelayChildren& children, Rank child) {
    children.on_ready(now, child);
    has_begun_ = has_begun_ || &children == &first();
    if (released_) {
        children.tell(wire::PacketType::release, child, wire::write(*released_), control_);
        return;
    }
    progress_.on_ready(now, child);
    if (outcome_.phase == Phase::wiring) {
        outcome_.phase = Phase::moving;
    }
    wire::Offer offer;
    offer.blocks = shape_.blocks;
    offer.object_bytes = shape_.object_bytes;
    offer.chunk_bytes = config_.chunk_bytes;
    children.tell(wire::PacketType::offer, child, wire::write(offer), control_);
    children.tell(wire::PacketType::pulse, child, wire::write(wire::Pulse{}), control_);
}

void RelaySource::on_request(Instant now,
                             RelayChildren& children,
                             Rank child,
                             const wire::Request& request) {
    const std::uint32_t before = children.requested_below();
    if (!released_) {
        children.on_request(child, request, control_);
    }
    if (children.requested_below() > before) {
        progress_.on_moved(now);
    }
}

void RelaySource::on_child_done(Instant now, const wire::Done& done) {
    const std::uint32_t before = result_.done().count();
    result_.on_done(done.ranks);
    if (result_.done().count() > before) {
        progress_.on_moved(now);
    }
}

void RelaySource::on_pulse(Instant now, Rank child, const wire::Pulse& pulse) {
    first().on_pulse(child, pulse);
    progress_.on_gained(now, first().gained());
}

/// The members behind a dropped member go on now: they could not before.
void RelaySource::on_leave(Instant now, const wire::Ending& leave) {
    if (fail(leave.rank, Error{blame_of(leave.outcome), leave.why})) {
        progress_.on_moved(now);
    }
}

void RelaySource::on_link(Instant now, const LinkEvent& event) {
    if (event.flow.index() < stripes_.size()) {
        stripes_[event.flow.index()].on_link(now, event);
    }
}

void RelaySource::on_completion(Instant now, const Completion& done) {
    disk_watch_.on_completed(now);
    if (is_over()) {
        return;
    }
    if (done.verdict == Verdict::failed ||
        (done.kind == OperationKind::finish && done.verdict != Verdict::good)) {
        fail(config_.own, done.why);
        return;
    }
    if (done.kind == OperationKind::load) {
        on_loaded(done);
    } else if (done.kind == OperationKind::finish) {
        outcome_.phase = Phase::holding;
        outcome_.held_at = now;
        result_.on_done(config_.own);
    }
}

void RelaySource::on_loaded(const Completion& done) {
    const auto bytes = stock_.on_loaded(done);
    if (!bytes) {
        fail(config_.own, bytes.error());
        return;
    }
    outcome_.bytes_held += *bytes;
    for (RelayChildren& children : stripes_) {
        children.on_loaded(done.block, true, control_);
    }
}

// ---- what becomes due

void RelaySource::start(Instant now) {
    is_started_ = true;
    progress_.on_moved(now);
    pulse_at_ = now + limits_.pulse;
}

void RelaySource::work(Instant now) {
    if (!is_started_) {
        start(now);
    }
    forgive(now, absence(limits_, now, pulse_at_));
    if (pulse_at_ && now >= *pulse_at_) {
        pulse_at_ = now + limits_.pulse;
        for (RelayChildren& children : stripes_) {
            children.tell_pulse({}, control_);
            children.expire(now, config_.stall_timeout / 2, operations_);
        }
    }
    if (!is_over()) {
        watch(now);
        order_finish();
        decide(now);
    }
    const bool all_confirmed = has_begun_ && first().have_all_confirmed();
    if (stays_until_ && (now >= *stays_until_ || all_confirmed)) {
        stays_until_.reset();
        pulse_at_.reset();
    }
}

/// The time of its own absence is no other's silence.
void RelaySource::forgive(Instant now, Duration away) {
    progress_.forgive(now, away);
    disk_watch_.forgive(now, away);
    for (RelayChildren& children : stripes_) {
        children.forgive(now, away);
    }
}

bool RelaySource::is_waited_for() const {
    const auto is_missing = [this](BlockIndex block) { return !stock_.was_read(block); };
    return disk_watch_.is_busy() && std::ranges::any_of(stripes_, [&](const auto& children) {
               return children.waits_for(is_missing);
           });
}

Duration RelaySource::disk_timeout() const {
    return is_finishing_ ? finish_timeout(config_, ending_)
                         : config_.stall_timeout * ending_.finish_factor;
}

void RelaySource::watch(Instant now) {
    if (disk_watch_.is_stuck(now, disk_timeout())) {
        fail(config_.own, {Blame::node, "reading hangs: the disk of this node is stuck"});
        return;
    }
    progress_.look(now, first(), result_);
    if (is_waited_for()) {
        progress_.on_moved(now);
    }
    if (now <= progress_.deadline()) {
        return;
    }
    for (const Rank rank : progress_.stuck(first(), result_)) {
        fail(rank, {Blame::node, progress_.why()});
    }
    progress_.on_moved(now);
}

std::uint32_t RelaySource::read_below() const {
    const bool have_all = result_.settled().count() + 1 >= config_.members;
    if (have_all) {
        return shape_.blocks;
    }
    std::uint32_t below = requested_below() + limits_.load_ahead_max;
    const std::uint32_t spread = std::min(limits_.spread_max, config_.resident_blocks / 2);
    for (const RelayChildren& children : stripes_) {
        if (const auto front = children.front(); front && stripes_.size() > 1) {
            below = std::min(below, front->value() + spread);
        }
    }
    return below;
}

std::uint32_t RelaySource::requested_below() const {
    std::uint32_t most = 0;
    for (const RelayChildren& children : stripes_) {
        most = std::max(most, children.requested_below());
    }
    return most;
}

void RelaySource::order_finish() {
    if (is_finishing_ || !(stock_.has_read_all() || config_.holds_already)) {
        return;
    }
    is_finishing_ = true;
    operations_.push_finish(Ticket{next_ticket_++});
}

bool RelaySource::fail(Rank culprit, Error why) {
    return culprit.value() < config_.members && !released_ &&
           result_.on_failed(culprit, std::move(why));
}

void RelaySource::decide(Instant now) {
    const auto failure = result_.failure();
    if (!failure && !(result_.is_success() && outcome_.phase == Phase::holding)) {
        return;
    }
    outcome_.phase = failure ? Phase::failed : Phase::released;
    if (failure) {
        outcome_.culprit = failure->rank;
        outcome_.why = failure->why;
    }
    outcome_.dropped = result_.dropped();
    released_ = release_of(result_, config_);
    for (RelayChildren& children : stripes_) {
        children.stop(now);
        children.tell_all(wire::PacketType::release, wire::write(*released_), control_);
    }
    stays_until_ = now + 2 * (limits_.end_timeout + limits_.round_trips * first().round_trip());
}

void RelaySource::next_sends(Instant /*now*/, SendBatch& batch) {
    const std::size_t before = batch.packets;
    control_.drain(batch, numbers_);
    for (RelayChildren& children : stripes_) {
        children.fill(batch, numbers_);
    }
    outcome_.packets_sent += batch.packets - before;
}

void RelaySource::next_operations(Instant now, OperationBatch& batch) {
    if (!is_over()) {
        stock_.order_loads(read_below(), operations_, next_ticket_);
        for (RelayChildren& children : stripes_) {
            children.order_loads(operations_, next_ticket_);
        }
    }
    disk_watch_.order(now, operations_, batch);
}

bool RelaySource::can_serve() const {
    return std::ranges::any_of(stripes_, [](const RelayChildren& children) {
        return children.can_send() || children.wants_loads();
    });
}

std::optional<Instant> RelaySource::deadline() const {
    if (is_over()) {
        return stays_until_ ? earlier(stays_until_, pulse_at_) : std::nullopt;
    }
    if (!is_started_ || can_serve() || stock_.wants_loads(read_below())) {
        return kLongAgo;
    }
    auto first = earlier(pulse_at_, progress_.deadline() + Duration{1});
    return earlier(first, disk_watch_.deadline(disk_timeout()));
}

}  // namespace stage::core
