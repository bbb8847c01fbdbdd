#include "transport/core/relay/relay_source.h"

#include "transport/base/invariant.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/base/repeater.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/broadcast_result.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/release.h"
#include "transport/core/relay/relay_children.h"
#include "transport/core/relay/relay_stock.h"
#include "transport/core/relay/relay_tree.h"
#include "transport/core/sending/disk_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stage::core {

struct RelaySource::RelayTransmission {
    RelayTransmission(const CoreConfig& given,
                      const ObjectShape& shape_,
                      std::uint32_t degree,
                      const RelayLimits& limits_);

    void on_datagram(Instant now, const Datagram& datagram);
    void on_ready(Instant now, RelayChildren& children, Rank child);
    void on_request(Instant now,
                    RelayChildren& children,
                    Rank child,
                    const wire::Request& request);
    void on_child_done(Instant now, const wire::Done& done);
    void on_pulse(Instant now, Rank child, const wire::Pulse& pulse);
    void on_leave(Instant now, const wire::Ending& leave);
    void on_link(const LinkEvent& event);
    void on_completion(Instant now, const Completion& done);
    void on_loaded(const Completion& done);

    void work(Instant now);
    void forgive(Instant now, Duration away);
    void start(Instant now);
    void watch(Instant now);
    void order_finish();
    /// True if the member is dropped from now on.
    bool fail(Rank culprit, Error why);
    void decide(Instant now);
    void take(Instant now, OperationBatch& batch);
    [[nodiscard]] std::optional<Instant> next() const;

    /// The tree by which all goes that is not of one stripe.
    [[nodiscard]] RelayChildren& first() { return stripes.front(); }
    [[nodiscard]] const RelayChildren& first() const { return stripes.front(); }
    [[nodiscard]] std::uint32_t requested_below() const;
    [[nodiscard]] bool can_serve() const;
    /// No block from here on is read yet.
    [[nodiscard]] std::uint32_t read_below() const;
    /// True while a child waits for a block that this member's disk has not read yet.
    [[nodiscard]] bool is_waited_for() const;
    [[nodiscard]] bool hold_all() const;
    /// How many receivers hold the object, but are not connected.
    [[nodiscard]] std::uint32_t lost_holders() const;
    [[nodiscard]] std::vector<Rank> stuck() const;
    [[nodiscard]] Duration progress_timeout() const;
    [[nodiscard]] Instant progress_deadline() const;
    [[nodiscard]] Duration disk_timeout() const;
    [[nodiscard]] bool is_over() const {
        return outcome.phase == Phase::released || outcome.phase == Phase::failed;
    }

    CoreConfig config;
    RelayLimits limits;
    EndingLimits ending;
    ObjectShape shape;
    RelayTree tree;
    Outcome outcome;
    Numbering numbers;
    ControlQueue control;
    RelayStock stock;
    std::vector<RelayChildren> stripes;  ///< The children in each one's tree.
    BroadcastResult result;
    OperationQueue operations;
    DiskWatch disk_watch;
    std::uint64_t next_ticket = 1;
    bool is_started = false;
    bool is_finishing = false;
    RankSet seen;  ///< Members that were children at some time.
    /// One of them by the first tree: until then no member can confirm the end.
    bool has_begun = false;
    std::uint64_t gained = 0;  ///< By all members, as far as PULSEs said.
    Instant moved_at{};        ///< When the group made progress.
    bool is_all_held = false;  ///< In this turn.
    Instant lost_at{};         ///< When one that held all was lost first since then.
    std::optional<Instant> pulse_at;
    std::optional<wire::Ending> released;
    std::optional<Instant> stays_until;
};

RelaySource::RelayTransmission::RelayTransmission(const CoreConfig& given,
                                                  const ObjectShape& shape_,
                                                  std::uint32_t degree,
                                                  const RelayLimits& limits_)
    : config{with_default_timeouts(given)},
      limits{scaled(limits_, config)},
      shape{shape_},
      tree{.members = config.members, .source = config.source, .degree = degree},
      control{control_max(config)},
      stock{config, shape, limits},
      result{config},
      seen{config.members} {
    invariant(config.own == config.source && config.own.value() < config.members &&
                  shape.blocks >= 1 && shape.blocks <= kBlocksMax && config.members >= 2 &&
                  config.resident_blocks >= 2 && degree >= 1,
              "a source has an object, a group of two or more, and room for two blocks");
    outcome.chunk_bytes = config.chunk_bytes;
    for (std::uint32_t stripe = 0; stripe < relay_stripes(degree); ++stripe) {
        RelayTree other = tree;
        other.stripe = stripe;
        stripes.emplace_back(config, flow_of(other), limits, stock, stock.pool());
    }
}

// ---- received packets and completed operations

void RelaySource::RelayTransmission::on_datagram(Instant now, const Datagram& datagram) {
    using wire::PacketType;
    const Rank from = datagram.header.rank;
    const std::size_t flow = datagram.header.flow.index();
    if (flow >= stripes.size() && !datagram.header.is_data()) {
        operations.push_back(hang_up_of({.peer = from, .flow = datagram.header.flow}));
        return;
    }
    RelayChildren& children = stripes[flow < stripes.size() ? flow : 0];
    children.on_heard(now, from);
    switch (datagram.header.type) {
        case PacketType::data: {
            Operation drop;
            drop.ticket = datagram.lease;
            operations.push_back(drop);
            return;
        }
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
            return released ? children.on_confirmed(from) : void();
        default:
            return;  // not of a relay, or for receivers
    }
}

void RelaySource::RelayTransmission::on_ready(Instant now,
                                              RelayChildren& children,
                                              Rank child) {
    children.on_ready(now, child);
    has_begun = has_begun || &children == &first();
    if (released) {
        children.tell(wire::PacketType::release, child, wire::write(*released), control);
        return;
    }
    if (seen.add(child)) {  // One that only comes again makes no progress.
        moved_at = now;
    }
    if (outcome.phase == Phase::wiring) {
        outcome.phase = Phase::moving;
    }
    wire::Offer offer;
    offer.blocks = shape.blocks;
    offer.object_bytes = shape.object_bytes;
    offer.chunk_bytes = config.chunk_bytes;
    children.tell(wire::PacketType::offer, child, wire::write(offer), control);
}

void RelaySource::RelayTransmission::on_request(Instant now,
                                                RelayChildren& children,
                                                Rank child,
                                                const wire::Request& request) {
    const std::uint32_t before = children.requested_below();
    if (!released) {
        children.on_request(child, request, control);
    }
    if (children.requested_below() > before) {
        moved_at = now;
    }
}

void RelaySource::RelayTransmission::on_child_done(Instant now, const wire::Done& done) {
    const std::uint32_t before = result.done().count();
    result.on_done(done.ranks);
    if (result.done().count() > before) {
        moved_at = now;
    }
}

/// The sum of blocks held is no measure of progress: it rises again and again where a member
/// that holds some is lost and comes back.
void RelaySource::RelayTransmission::on_pulse(Instant now,
                                              Rank child,
                                              const wire::Pulse& pulse) {
    first().on_pulse(child, pulse);
    if (first().gained() > std::exchange(gained, first().gained())) {
        moved_at = now;
    }
}

/// Those behind a member that is dropped go on now: they could not before.
void RelaySource::RelayTransmission::on_leave(Instant now, const wire::Ending& leave) {
    if (fail(leave.rank, Error{blame_of(leave.outcome), leave.why})) {
        moved_at = now;
    }
}

void RelaySource::RelayTransmission::on_link(const LinkEvent& event) {
    if (event.flow.index() < stripes.size()) {
        stripes[event.flow.index()].on_link(event);
    }
}

void RelaySource::RelayTransmission::on_completion(Instant now, const Completion& done) {
    disk_watch.on_completed(now);
    if (is_over()) {
        return;
    }
    if (done.verdict == Verdict::failed ||
        (done.kind == OperationKind::finish && done.verdict != Verdict::good)) {
        fail(config.own, done.why);
        return;
    }
    if (done.kind == OperationKind::load) {
        on_loaded(done);
    } else if (done.kind == OperationKind::finish) {
        outcome.phase = Phase::holding;
        outcome.held_at = now;
        result.on_done(config.own);
    }
}

void RelaySource::RelayTransmission::on_loaded(const Completion& done) {
    const auto bytes = stock.on_loaded(done);
    if (!bytes) {
        fail(config.own, bytes.error());
        return;
    }
    outcome.bytes_held += *bytes;
    for (RelayChildren& children : stripes) {
        children.on_loaded(done.block, true, control);
    }
}

// ---- what becomes due

void RelaySource::RelayTransmission::start(Instant now) {
    is_started = true;
    moved_at = now;
    pulse_at = now + limits.pulse;
}

void RelaySource::RelayTransmission::work(Instant now) {
    if (!is_started) {
        start(now);
    }
    forgive(now, absence(limits, now, pulse_at));
    if (pulse_at && now >= *pulse_at) {
        pulse_at = now + limits.pulse;
        for (RelayChildren& children : stripes) {
            children.tell_pulse({}, control);
            children.expire(now, config.stall_timeout / 2, operations);
        }
    }
    if (!is_over()) {
        watch(now);
        order_finish();
        decide(now);
    }
    const bool all_confirmed = has_begun && first().have_all_confirmed();
    if (stays_until && (now >= *stays_until || all_confirmed)) {
        stays_until.reset();
        pulse_at.reset();
    }
}

/// The time of its own absence is no other's silence.
void RelaySource::RelayTransmission::forgive(Instant now, Duration away) {
    moved_at = std::min(moved_at + away, now);
    lost_at = std::min(lost_at + away, now);
    disk_watch.forgive(now, away);
    for (RelayChildren& children : stripes) {
        children.forgive(now, away);
    }
}

bool RelaySource::RelayTransmission::is_waited_for() const {
    const auto is_missing = [this](BlockIndex block) { return !stock.was_read(block); };
    return disk_watch.is_busy() && std::ranges::any_of(stripes, [&](const auto& children) {
               return children.waits_for(is_missing);
           });
}

/// By what the connected members reported, and with those that were done before they were lost.
/// (Both sums wrap alike.)
bool RelaySource::RelayTransmission::hold_all() const {
    const std::uint32_t missing =
        (config.members - 1U - result.dropped_count()) * shape.blocks - first().blocks_held();
    if (missing == 0 || shape.blocks == 0) {
        return missing == 0;
    }
    // (Who is lost is looked for among all members, so only where that decides.)
    const std::uint32_t lost = missing / shape.blocks;
    return missing % shape.blocks == 0 && lost <= result.done().count() &&
           lost_holders() == lost;
}

std::uint32_t RelaySource::RelayTransmission::lost_holders() const {
    RankSet joined{config.members};
    if (result.done().count() == 0 || !first().add_joined(joined)) {
        return 0;
    }
    joined.add(config.source);
    return joined.add(result.done().runs(config.members, joined));
}

/// The members that are neither done nor connected; if all of these are connected, they. (A
/// crashed member does not keep the others from their end: they have another time-out. The
/// source hears late that the end of a long chain is connected; a member that it takes for lost
/// and that completes is not dropped.)
std::vector<Rank> RelaySource::RelayTransmission::stuck() const {
    RankSet joined{config.members};
    const bool is_known = first().add_joined(joined);
    std::vector<Rank> all;
    std::vector<Rank> lost;
    for (std::uint32_t place = 1; place < config.members; ++place) {
        const Rank rank = tree.at(place);
        if (result.settled().has(rank)) {
            continue;
        }
        all.push_back(rank);
        if (is_known && !joined.has(rank)) {
            lost.push_back(rank);
        }
    }
    return lost.empty() ? all : lost;
}

/// How long nothing may move before the members that are not done count as failed.
Duration RelaySource::RelayTransmission::progress_timeout() const {
    if (seen.count() == 0) {
        return config.ready_timeout;
    }
    return is_all_held ? finish_timeout(config, ending) : config.stall_timeout;
}

/// A member that is lost while it finishes has the stall timeout to come back.
Instant RelaySource::RelayTransmission::progress_deadline() const {
    return (is_all_held ? moved_at : std::max(moved_at, lost_at)) + progress_timeout();
}

Duration RelaySource::RelayTransmission::disk_timeout() const {
    return is_finishing ? finish_timeout(config, ending)
                        : config.stall_timeout * ending.finish_factor;
}

void RelaySource::RelayTransmission::watch(Instant now) {
    if (disk_watch.is_stuck(now, disk_timeout())) {
        fail(config.own, {Blame::node, "reading hangs: the disk of this node is stuck"});
        return;
    }
    if (std::exchange(is_all_held, hold_all()) && !is_all_held && lost_at < moved_at) {
        lost_at = now;
    }
    if (is_waited_for()) {
        moved_at = now;
    }
    if (now <= progress_deadline()) {
        return;
    }
    const std::string time =
        std::to_string(progress_timeout() / std::chrono::seconds{1}) + " s";
    const std::string why =
        seen.count() == 0
            ? "no node has connected to the source within " + time +
                  ": the data ports (DataPortRange, TCP) are closed between the nodes"
            : "this node made no progress for " + time +
                  ": it crashed, or its disk or its network is stuck";
    for (const Rank rank : stuck()) {
        fail(rank, {Blame::node, why});
    }
    moved_at = now;
}

std::uint32_t RelaySource::RelayTransmission::read_below() const {
    const bool have_all = result.settled().count() + 1 >= config.members;
    if (have_all) {
        return shape.blocks;
    }
    std::uint32_t below = requested_below() + limits.load_ahead_max;
    const std::uint32_t spread = std::min(limits.spread_max, config.resident_blocks / 2);
    for (const RelayChildren& children : stripes) {
        if (const auto front = children.front(); front && stripes.size() > 1) {
            below = std::min(below, front->value() + spread);
        }
    }
    return below;
}

std::uint32_t RelaySource::RelayTransmission::requested_below() const {
    std::uint32_t most = 0;
    for (const RelayChildren& children : stripes) {
        most = std::max(most, children.requested_below());
    }
    return most;
}

void RelaySource::RelayTransmission::order_finish() {
    if (is_finishing || !(stock.has_read_all() || config.holds_already)) {
        return;
    }
    is_finishing = true;
    Operation finish;
    finish.kind = OperationKind::finish;
    finish.ticket = Ticket{next_ticket++};
    operations.push_back(finish);
}

bool RelaySource::RelayTransmission::fail(Rank culprit, Error why) {
    return culprit.value() < config.members && !released &&
           result.on_failed(culprit, std::move(why));
}

void RelaySource::RelayTransmission::decide(Instant now) {
    const auto failure = result.failure();
    if (!failure && !(result.is_success() && outcome.phase == Phase::holding)) {
        return;
    }
    outcome.phase = failure ? Phase::failed : Phase::released;
    if (failure) {
        outcome.culprit = failure->rank;
        outcome.why = failure->why;
    }
    outcome.dropped = result.dropped();
    released = release_of(result, config);
    std::ranges::for_each(stripes, &RelayChildren::stop);
    first().tell_all(wire::PacketType::release, wire::write(*released), control);
    stays_until = now + 2 * (limits.end_timeout + limits.round_trips * first().round_trip());
}

void RelaySource::RelayTransmission::take(Instant now, OperationBatch& batch) {
    if (!is_over()) {
        stock.order_loads(read_below(), operations, next_ticket);
        for (RelayChildren& children : stripes) {
            children.order_loads(operations, next_ticket);
        }
    }
    while (!operations.empty() && !batch.full()) {
        disk_watch.on_ordered(now, operations.front());
        batch.operations.push_back(operations.pop_front());
    }
}

bool RelaySource::RelayTransmission::can_serve() const {
    return std::ranges::any_of(stripes, [](const RelayChildren& children) {
        return children.can_send() || children.wants_loads();
    });
}

std::optional<Instant> RelaySource::RelayTransmission::next() const {
    if (is_over()) {
        return stays_until ? earlier(stays_until, pulse_at) : std::nullopt;
    }
    if (!is_started || can_serve() || stock.wants_loads(read_below())) {
        return kLongAgo;
    }
    auto first = earlier(pulse_at, progress_deadline() + Duration{1});
    return earlier(first, disk_watch.deadline(disk_timeout()));
}

// ---- the contract

RelaySource::RelaySource(const CoreConfig& config,
                         const ObjectShape& shape,
                         std::uint32_t degree,
                         RelayLimits limits)
    : transmission_{std::make_unique<RelayTransmission>(config, shape, degree, limits)} {
}
RelaySource::RelaySource(RelaySource&&) noexcept = default;
RelaySource::~RelaySource() = default;

void RelaySource::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        transmission_->on_datagram(now, datagram);
    }
    transmission_->work(now);
}

void RelaySource::on_links(Instant now, std::span<const LinkEvent> events) {
    for (const LinkEvent& event : events) {
        transmission_->on_link(event);
    }
    transmission_->work(now);
}

void RelaySource::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& done : completions) {
        transmission_->on_completion(now, done);
    }
    transmission_->work(now);
}

void RelaySource::on_time(Instant now) {
    transmission_->work(now);
}

void RelaySource::on_abort(Instant now, const Error& why) {
    transmission_->fail(transmission_->config.own, why);
    transmission_->work(now);
}

void RelaySource::on_all_listen(Instant now) {
    transmission_->work(now);
}

void RelaySource::next_sends(Instant /*now*/, SendBatch& sends) {
    const std::size_t before = sends.packets;
    transmission_->control.drain(sends, transmission_->numbers);
    for (RelayChildren& children : transmission_->stripes) {
        children.fill(sends, transmission_->numbers);
    }
    transmission_->outcome.packets_sent += sends.packets - before;
}

void RelaySource::next_operations(Instant now, OperationBatch& operations) {
    transmission_->take(now, operations);
}

std::optional<Instant> RelaySource::deadline() const {
    return transmission_->next();
}

const Outcome& RelaySource::outcome() const {
    return transmission_->outcome;
}

}  // namespace stage::core
