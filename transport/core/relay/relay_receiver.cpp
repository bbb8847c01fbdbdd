#include "transport/core/relay/relay_receiver.h"

#include "transport/base/invariant.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/base/repeater.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/release.h"
#include "transport/core/receiver/reassembly.h"
#include "transport/core/relay/relay_children.h"
#include "transport/core/relay/relay_lag.h"
#include "transport/core/relay/relay_parent.h"
#include "transport/core/relay/relay_requests.h"
#include "transport/core/relay/relay_tree.h"
#include "transport/core/sending/disk_watch.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace stage::core {
namespace {

/// A member's place in the tree of one stripe.
struct Stripe {
    RelayTree tree;
    RelayParent parent;
    RelayChildren children;
    std::optional<Instant> pulse_at{};  ///< To the children.
};

}  // namespace

struct RelayReceiver::RelayReception {
    RelayReception(const CoreConfig& given,
                   std::uint32_t degree,
                   const RelayLimits& limits_,
                   const Limits& common);

    void on_datagram(Instant now, const Datagram& datagram);
    void on_parent(Instant now, Stripe& stripe, const Datagram& datagram);
    void on_sign(Instant now, const wire::Pulse& pulse);
    void on_parent_holds(Instant now, std::uint32_t blocks);
    void on_child(Instant now, Stripe& stripe, const Datagram& datagram);
    void on_offer(Instant now, const wire::Offer& offer);
    void on_ready(Instant now, Stripe& stripe, Rank child);
    void on_leave(const wire::Ending& leave);
    void on_release(Instant now, const wire::Ending& release, const Destination& from);
    void on_link(Instant now, const LinkEvent& event);
    void on_completion(Instant now, const Completion& done);

    void work(Instant now);
    void forgive(Instant now, Duration away);
    void connect(Instant now);
    void connect(Instant now, Stripe& stripe);
    void tell_pulse(Instant now, Stripe& stripe);
    [[nodiscard]] wire::Pulse pulse_up(const Stripe& stripe) const;
    void order(OperationKind kind, const Destination& connection);
    void watch(Instant now);
    void watch_disk(Instant now);
    void watch_gain(Instant now);
    void watch_connections(Instant now);
    void request_blocks();
    void send_request(const Stripe& stripe, const wire::Request& request);
    void report_done(Instant now);
    void order_finish();
    [[nodiscard]] bool is_being_dropped() const;
    void fail(Instant now, Error why);
    void end(Phase phase);
    void take(Instant now, OperationBatch& batch);
    [[nodiscard]] std::optional<Instant> next() const;

    /// The tree by which all goes that is not of one stripe.
    [[nodiscard]] Stripe& first() { return stripes.front(); }
    [[nodiscard]] const Stripe& first() const { return stripes.front(); }
    [[nodiscard]] bool can_serve() const;
    [[nodiscard]] std::uint32_t own_blocks() const;
    [[nodiscard]] Duration round_trip() const;
    [[nodiscard]] std::optional<Instant> done_at() const;
    [[nodiscard]] std::optional<Instant> gainless_at() const;
    [[nodiscard]] std::optional<Instant> shut_out_at() const;
    [[nodiscard]] std::optional<Instant> unheard_at() const;
    [[nodiscard]] std::optional<Duration> disk_timeout() const;
    [[nodiscard]] bool is_over() const {
        return outcome.phase == Phase::released || outcome.phase == Phase::failed;
    }
    [[nodiscard]] bool wants_blocks() const {
        return outcome.phase == Phase::moving && !config.holds_already;
    }
    [[nodiscard]] bool lacks_blocks() const {
        return outcome.phase == Phase::wiring ? !config.holds_already
                                              : wants_blocks() && !is_finishing;
    }

    CoreConfig config;
    RelayLimits limits;
    EndingLimits ending;
    std::uint32_t subtree = 0;  ///< Members from this one on down.
    Outcome outcome;
    Numbering numbers;
    ControlQueue control;
    Reassembly reassembly;
    RelayRequests requests;
    std::vector<Stripe> stripes;
    RelayLag lag;
    RankSet done;      ///< Members known to hold the object.
    RankSet reported;  ///< The part of `done` that the present parent has received.
    Instant reported_at = kLongAgo;
    bool has_reported_own = false;  ///< That it holds the object, to any parent.
    DiskWatch disk_watch;
    std::uint32_t placed_before = 0;  ///< Chunks, when it was looked last.
    /// When this member last gained a chunk, or had no chance to.
    Instant gained_at{};
    Instant source_at{};  ///< The last sign of life from the source, as parents pass it on.
    bool was_source_heard = false;
    bool is_aside = false;
    bool is_started = false;
    Instant started_at{};
    bool is_finishing = false;
    std::uint64_t object_bytes = 0;
    std::vector<std::byte> offer_body;    ///< As it came; empty before.
    std::map<Rank, wire::Ending> leaves;  ///< Of this member, and from below.
    std::optional<wire::Ending> released;
    std::optional<Instant> stays_until;  ///< Once it is over.
};

RelayReceiver::RelayReception::RelayReception(const CoreConfig& given,
                                              std::uint32_t degree,
                                              const RelayLimits& limits_,
                                              const Limits& common)
    : config{with_default_timeouts(given)},
      limits{scaled(limits_, config)},
      ending{common.ending},
      control{control_max(config)},
      reassembly{config, common},
      requests{config, limits, relay_stripes(degree), reassembly},
      lag{limits.requested_max},
      done{config.members},
      reported{config.members} {
    invariant(config.own != config.source && config.own.value() < config.members &&
                  config.source.value() < config.members && degree >= 1 &&
                  config.resident_blocks > relay_stripes(degree),
              "a receiver is a member of its group and has room for a block to be read back");
    outcome.chunk_bytes = config.chunk_bytes;
    for (std::uint32_t stripe = 0; stripe < relay_stripes(degree); ++stripe) {
        const RelayTree tree{.members = config.members,
                             .source = config.source,
                             .degree = degree,
                             .stripe = stripe};
        stripes.push_back(
            {.tree = tree,
             .parent = {config, limits, tree},
             .children = {config, flow_of(tree), limits, reassembly, reassembly.pool()}});
    }
    subtree = first().tree.size_below(first().tree.place(config.own));
}

// ---- received packets

void RelayReceiver::RelayReception::on_datagram(Instant now, const Datagram& datagram) {
    const std::size_t flow = datagram.header.flow.index();
    if (flow >= stripes.size()) {
        order(OperationKind::hang_up,
              {.peer = datagram.header.rank, .flow = datagram.header.flow});
        return datagram.header.is_data() ? reassembly.drop(datagram) : void();
    }
    Stripe& stripe = stripes[flow];
    if (datagram.header.type == wire::PacketType::ready) {
        stripe.parent.on_ready(now, datagram.header.rank);  // Before it counts as the parent's.
    }
    const bool is_parents = stripe.parent.on_packet(now, datagram.header.rank);
    stripe.children.on_heard(now, datagram.header.rank);
    if (datagram.header.is_data()) {
        if (wants_blocks() && is_parents) {
            static_cast<void>(reassembly.on_data(datagram));
        } else {
            reassembly.drop(datagram);
        }
    } else if (is_parents) {
        on_parent(now, stripe, datagram);
    } else {
        on_child(now, stripe, datagram);
    }
}

void RelayReceiver::RelayReception::on_parent(Instant now,
                                              Stripe& stripe,
                                              const Datagram& datagram) {
    using wire::PacketType;
    if (datagram.header.type == PacketType::offer) {
        const bool is_wanted = offer_body.empty() && !is_over();
        if (const auto body = wire::read_offer(datagram.body); body && is_wanted) {
            offer_body.assign(datagram.body.begin(), datagram.body.end());
            on_offer(now, *body);
        }
    } else if (datagram.header.type == PacketType::describe) {
        if (const auto body = wire::read_describe(datagram.body); body && wants_blocks()) {
            reassembly.on_describe(*body);
        }
    } else if (datagram.header.type == PacketType::lacking) {
        if (wants_blocks()) {
            gained_at = now;  // That parent had nothing for it.
            stripe.parent.leave(now);
        }
    } else if (datagram.header.type == PacketType::pulse) {
        if ((datagram.header.flags & wire::kFlagAwaits) != 0) {
            gained_at = now;
        }
        if (const auto body = wire::read_pulse(datagram.body); body && &stripe == &first()) {
            on_sign(now, *body);
        }
    } else if (datagram.header.type == PacketType::release) {
        if (const auto body = wire::read_ending(datagram.body)) {
            on_release(now, *body, stripe.parent.where());
        }
    }
}

/// A sign of the source goes on at once. It comes by the first tree only: two members can be
/// each other's parents, and would pass a sign back and forth, a little younger each time.
void RelayReceiver::RelayReception::on_sign(Instant now, const wire::Pulse& pulse) {
    const Instant sign = now - std::chrono::microseconds{pulse.queue_us};
    source_at = std::max(source_at, sign);
    was_source_heard = true;
    first().pulse_at = std::min(first().pulse_at.value_or(now), now);
    on_parent_holds(now, pulse.packets);
}

/// A slow member of a chain delays all below it, unless it steps aside. (The source says of no
/// block that it holds it.) One that came from another parent does not: if that one stepped
/// aside, too, it is the present parent that sends slowly.
void RelayReceiver::RelayReception::on_parent_holds(Instant now, std::uint32_t blocks) {
    const RelayTree& tree = first().tree;
    const bool is_last = tree.place(config.own) + 1 == tree.members;
    if (!wants_blocks() || is_aside || is_last || !tree.is_chain() ||
        !first().parent.is_first() || !lag.on_pulse(blocks, reassembly.map().held()) ||
        first().children.is_empty()) {
        return;
    }
    is_aside = true;
    subtree = 1;
    first().children.dismiss(reassembly.operations());
    first().parent.step_aside(now);
}

void RelayReceiver::RelayReception::on_child(Instant now,
                                             Stripe& stripe,
                                             const Datagram& datagram) {
    using wire::PacketType;
    const Rank from = datagram.header.rank;
    if (datagram.header.type == PacketType::ready) {
        on_ready(now, stripe, from);
    } else if (!stripe.children.has(from)) {
        return;
    } else if (datagram.header.type == PacketType::request) {
        if (const auto body = wire::read_request(datagram.body); body && !is_over()) {
            stripe.children.on_request(from, *body, control);
        }
    } else if (datagram.header.type == PacketType::done) {
        if (const auto body = wire::read_done(datagram.body)) {
            done.add(body->ranks);
        }
    } else if (datagram.header.type == PacketType::pulse) {
        if (const auto body = wire::read_pulse(datagram.body)) {
            stripe.children.on_pulse(from, *body);
            if (&stripe == &first()) {
                stripe.parent.hurry(now);
            }
        }
    } else if (datagram.header.type == PacketType::leave) {
        if (const auto body = wire::read_ending(datagram.body)) {
            on_leave(*body);
        }
    } else if (datagram.header.type == PacketType::done_ack && released) {
        stripe.children.on_confirmed(from);
    }
}

void RelayReceiver::RelayReception::on_offer(Instant now, const wire::Offer& offer) {
    if (offer.chunk_bytes != config.chunk_bytes || offer.blocks > kBlocksMax) {
        return fail(now,
                    {Blame::node,
                     "the source sends chunks of " + std::to_string(offer.chunk_bytes) +
                         " bytes in " + std::to_string(offer.blocks) +
                         " blocks; this node takes " + std::to_string(config.chunk_bytes) +
                         " bytes and " + std::to_string(kBlocksMax) + " blocks"});
    }
    reassembly.begin({.blocks = offer.blocks, .object_bytes = offer.object_bytes});
    reassembly.hold_before(config.held_before, config.bytes_held_before);
    object_bytes = offer.object_bytes;
    outcome.phase = Phase::moving;
    for (Stripe& stripe : stripes) {
        stripe.children.tell_all(wire::PacketType::offer, offer_body, control);
        stripe.children.on_begun(control);
    }
}

/// The offer follows when it is here.
void RelayReceiver::RelayReception::on_ready(Instant now, Stripe& stripe, Rank child) {
    if (is_aside || is_being_dropped()) {
        return order(OperationKind::hang_up,
                     {.to_group = false, .peer = child, .flow = flow_of(stripe.tree)});
    }
    stripe.children.on_ready(now, child);
    if (released) {
        stripe.children.tell(wire::PacketType::release, child, wire::write(*released), control);
    } else if (!offer_body.empty()) {
        stripe.children.tell(wire::PacketType::offer, child, offer_body, control);
    }
}

/// A member below cannot go on: the source decides what that means.
void RelayReceiver::RelayReception::on_leave(const wire::Ending& from_below) {
    if (leaves.emplace(from_below.rank, from_below).second) {
        control.push(wire::PacketType::leave, first().parent.where(), wire::write(from_below));
    }
}

/// Those whose parents of a further stripe leave them hear of it by the first tree.
void RelayReceiver::RelayReception::on_release(Instant now,
                                               const wire::Ending& release,
                                               const Destination& from) {
    const auto result =
        result_of(release, config, is_over() || outcome.phase == Phase::holding);
    if (released || !result) {
        return;
    }
    const wire::Done own{.ranks = {{.first = config.own, .last = config.own}}};
    control.push(wire::PacketType::done_ack, from, wire::write(own));
    if (first().parent.is_connected() && first().parent.where() != from) {
        control.push(wire::PacketType::done_ack, first().parent.where(), wire::write(own));
    }
    first().parent.stop();
    released = release;
    first().children.tell_all(wire::PacketType::release, wire::write(release), control);
    stays_until = now + limits.end_timeout + limits.round_trips * round_trip();
    if (is_over()) {
        return;
    }
    outcome.culprit = result->culprit;
    outcome.why = result->why;
    outcome.dropped = result->dropped;
    end(result->phase);
}

void RelayReceiver::RelayReception::on_link(Instant now, const LinkEvent& event) {
    if (event.flow.index() >= stripes.size()) {
        return;
    }
    Stripe& stripe = stripes[event.flow.index()];
    stripe.children.on_link(event);
    if (!released) {
        stripe.parent.on_link(now, event);
    }
}

// ---- completed operations

void RelayReceiver::RelayReception::on_completion(Instant now, const Completion& completed) {
    disk_watch.on_completed(now);
    if (is_over()) {
        return;
    }
    if (completed.kind == OperationKind::load) {
        reassembly.on_loaded(completed);
        for (Stripe& stripe : stripes) {
            stripe.children.on_loaded(
                completed.block, completed.verdict == Verdict::good, control);
        }
    } else if (completed.kind == OperationKind::finish) {
        if (completed.verdict != Verdict::good) {
            return fail(now, completed.why);
        }
        outcome.phase = Phase::holding;
        outcome.held_at = now;
        outcome.bytes_held = object_bytes;
        done.add(config.own);
    } else if (auto placed = reassembly.on_done(completed); !placed) {
        fail(now, std::move(placed).error());
    }
}

// ---- what becomes due

void RelayReceiver::RelayReception::work(Instant now) {
    if (!std::exchange(is_started, true)) {
        started_at = now;
        source_at = now;
        gained_at = now;
        for (Stripe& stripe : stripes) {
            stripe.parent.start(now);
            stripe.pulse_at = now + limits.pulse;
        }
    }
    forgive(now, absence(limits, now, first().pulse_at));
    if (!is_over()) {
        watch(now);
    }
    for (Stripe& stripe : stripes) {
        if (stripe.pulse_at && now >= *stripe.pulse_at) {
            stripe.pulse_at = now + limits.pulse;
            tell_pulse(now, stripe);
            stripe.children.expire(now, config.stall_timeout / 2, reassembly.operations());
        }
    }
    connect(now);
    request_blocks();
    order_finish();
    report_done(now);
    const bool all_confirmed = released && first().children.have_all_confirmed();
    if (stays_until && (now >= *stays_until || all_confirmed)) {
        stays_until.reset();
        for (Stripe& stripe : stripes) {
            stripe.pulse_at.reset();
            stripe.parent.stop();
        }
    }
}

/// The time of its own absence is no other's silence.
void RelayReceiver::RelayReception::forgive(Instant now, Duration away) {
    started_at = std::min(started_at + away, now);
    source_at = std::min(source_at + away, now);
    gained_at = std::min(gained_at + away, now);
    disk_watch.forgive(now, away);
    for (Stripe& stripe : stripes) {
        stripe.parent.forgive(now, away);
        stripe.children.forgive(now, away);
    }
}

/// With the age of the last sign from the source: members that the source does not reach
/// find that out together, not one after another.
void RelayReceiver::RelayReception::tell_pulse(Instant now, Stripe& stripe) {
    const auto age = std::chrono::duration_cast<std::chrono::microseconds>(now - source_at);
    wire::Pulse pulse;
    pulse.queue_us = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(age.count(), 0, std::numeric_limits<std::uint32_t>::max()));
    pulse.packets = reassembly.has_begun() ? reassembly.map().held() : 0;
    stripe.children.tell_pulse(pulse, control);
}

/// What this part of the first tree holds, and who is in it, if that fits; by a further one a
/// sign of life.
wire::Pulse RelayReceiver::RelayReception::pulse_up(const Stripe& stripe) const {
    wire::Pulse pulse;
    pulse.packets = own_blocks() + first().children.blocks_held();
    if (&stripe != &stripes.front()) {
        return pulse;
    }
    pulse.gained = own_blocks() + stripe.children.gained();
    RankSet joined{config.members};
    joined.add(config.own);
    if (stripe.children.add_joined(joined)) {
        pulse.joined = joined.runs(wire::kMaxRankRuns + 1, RankSet{config.members});
    }
    if (pulse.joined.size() > wire::kMaxRankRuns) {
        pulse.joined.clear();
    }
    return pulse;
}

/// A further stripe's parent is left when there is nothing more to receive of it.
void RelayReceiver::RelayReception::connect(Instant now) {
    for (Stripe& stripe : stripes) {
        if (&stripe != &first() && !lacks_blocks()) {
            stripe.parent.give_up();
        }
        connect(now, stripe);
    }
}

void RelayReceiver::RelayReception::connect(Instant now, Stripe& stripe) {
    stripe.parent.poll(now, control);
    if (stripe.parent.take_pulse(now)) {
        control.push(
            wire::PacketType::pulse, stripe.parent.where(), wire::write(pulse_up(stripe)));
    }
    if (const auto left = stripe.parent.take_left()) {
        order(OperationKind::hang_up, *left);
    }
    if (const auto next = stripe.parent.take_connect()) {
        order(OperationKind::connect, *next);
    }
    if (!stripe.parent.take_connected()) {
        return;
    }
    if (&stripe == &first()) {
        lag.restart();
        reported.clear();
        reported_at = kLongAgo;
        for (const auto& [rank, leave] : leaves) {
            control.push(wire::PacketType::leave, stripe.parent.where(), wire::write(leave));
        }
    }
    if (wants_blocks()) {
        send_request(stripe, requests.again(stripe.tree.stripe));
    }
}

void RelayReceiver::RelayReception::order(OperationKind kind, const Destination& connection) {
    Operation operation;
    operation.kind = kind;
    operation.peer = connection.peer;
    operation.flow = connection.flow;
    reassembly.operations().push_back(operation);
}

void RelayReceiver::RelayReception::request_blocks() {
    for (const Stripe& stripe : stripes) {
        if (wants_blocks() && stripe.parent.is_connected()) {
            send_request(stripe, requests.more(stripe.tree.stripe));
        }
    }
}

void RelayReceiver::RelayReception::send_request(const Stripe& stripe,
                                                 const wire::Request& request) {
    if (!request.runs.empty()) {
        control.push(wire::PacketType::request, stripe.parent.where(), wire::write(request));
    }
}

void RelayReceiver::RelayReception::order_finish() {
    const bool holds_all =
        reassembly.has_begun() && (config.holds_already || reassembly.map().holds_all());
    if (reassembly.has_begun()) {
        outcome.bytes_held = reassembly.bytes_held();
    }
    if (!holds_all || is_finishing || outcome.phase != Phase::moving) {
        return;
    }
    is_finishing = true;
    Operation finish;
    finish.kind = OperationKind::finish;
    finish.ticket = Ticket{reassembly.next_ticket()++};
    reassembly.operations().push_back(finish);
}

/// At once if all members below hold it; otherwise after a while, together with others.
std::optional<Instant> RelayReceiver::RelayReception::done_at() const {
    if (is_over() || !first().parent.is_heard() || done.count() == reported.count()) {
        return std::nullopt;
    }
    return done.count() >= subtree ? kLongAgo : reported_at + limits.done_gather;
}

void RelayReceiver::RelayReception::report_done(Instant now) {
    while (done_at() && now >= *done_at()) {
        const wire::Done body{.ranks = done.runs(wire::kMaxRankRuns, reported)};
        reported.add(body.ranks);
        has_reported_own = has_reported_own || reported.has(config.own);
        reported_at = now;
        control.push(wire::PacketType::done, first().parent.where(), wire::write(body));
    }
}

std::uint32_t RelayReceiver::RelayReception::own_blocks() const {
    if (!reassembly.has_begun()) {
        return 0;
    }
    return config.holds_already ? reassembly.map().blocks() : reassembly.map().held();
}

/// When this member has heard no ancestor for too long.
std::optional<Instant> RelayReceiver::RelayReception::unheard_at() const {
    if (is_over()) {
        return std::nullopt;
    }
    if (!was_source_heard || outcome.phase != Phase::holding || !has_reported_own) {
        const Duration timeout = was_source_heard ? config.stall_timeout : config.ready_timeout;
        return source_at + timeout + Duration{1};
    }
    // (What one that connected late heard before counts for little.)
    return std::max(source_at, *outcome.held_at) + limits.unheard_end +
           limits.round_trips * round_trip() + Duration{1};
}

void RelayReceiver::RelayReception::watch(Instant now) {
    if (const auto at = unheard_at(); at && now >= *at) {
        if (outcome.phase == Phase::holding) {
            outcome.is_end_unheard = true;
            return end(Phase::released);
        }
        return fail(now,
                    {Blame::node,
                     was_source_heard
                         ? "the source and every node between it and this node fell silent"
                         : "no connection to the source or to a node between it and this node: "
                           "the data ports (DataPortRange, TCP) are closed, the path's MTU is "
                           "below 1260, or the network of this node fails"});
    }
    watch_connections(now);
    watch_disk(now);
    watch_gain(now);
}

/// The node that does not answer is named, and not this one, which is found as soon as another
/// node is its child.
void RelayReceiver::RelayReception::watch_connections(Instant now) {
    const auto at = shut_out_at();
    if (!at || now < *at) {
        return;
    }
    const RelayTree& tree = first().tree;
    fail(now,
         {Blame::node,
          "no connection to the data ports (DataPortRange, TCP) could be made: a firewall "
          "closes them"});
    outcome.culprit = tree.at(tree.parent(tree.place(config.own)));
    outcome.is_unconnected = true;
}

/// When this member gives up to find a parent whose host takes its connection.
std::optional<Instant> RelayReceiver::RelayReception::shut_out_at() const {
    return !is_over() && first().parent.is_shut_out()
               ? std::optional{started_at + config.connect_timeout + Duration{1}}
               : std::nullopt;
}

/// A member by whose connections nothing passes but what is short fails itself: the others may
/// go on for hours, or wait for it alone.
void RelayReceiver::RelayReception::watch_gain(Instant now) {
    if (!gainless_at() ||
        std::exchange(placed_before, reassembly.placed()) != reassembly.placed()) {
        gained_at = now;
    } else if (now >= *gainless_at()) {
        const std::string time =
            std::to_string(config.stall_timeout / std::chrono::seconds{1}) + " s";
        fail(now,
             {Blame::node,
              "this node received nothing for " + time +
                  ", although another node sent it blocks: its connections end, or its "
                  "network drops long packets"});
    }
}

/// When this member has gained nothing for too long, although its parents have what it lacks;
/// nothing while its own disk is to store what it lacks first.
std::optional<Instant> RelayReceiver::RelayReception::gainless_at() const {
    const bool gains = wants_blocks() && !is_finishing && !reassembly.is_first_at_disk();
    return gains ? std::optional{gained_at + config.stall_timeout + Duration{1}} : std::nullopt;
}

void RelayReceiver::RelayReception::watch_disk(Instant now) {
    const auto timeout = disk_timeout();
    disk_watch.look(now, timeout.has_value());
    if (timeout && disk_watch.is_stuck(now, *timeout)) {
        fail(now, {Blame::node, "writing hangs: the disk of this node is stuck"});
    }
}

/// How long the disk may take for what it is doing now; nothing if it isn't waited for.
std::optional<Duration> RelayReceiver::RelayReception::disk_timeout() const {
    if (outcome.phase != Phase::moving) {
        return std::nullopt;
    }
    if (is_finishing) {
        return finish_timeout(config, ending);
    }
    return reassembly.is_first_at_disk() ? std::optional{config.stall_timeout} : std::nullopt;
}

/// The member stays until RELEASE answers its LEAVE, or a moment. If it is dropped its children
/// need another parent, and are not to wait for that.
void RelayReceiver::RelayReception::fail(Instant now, Error why) {
    if (is_over()) {
        return;
    }
    const wire::Ending leave{
        .outcome = outcome_of(why.blame()), .rank = config.own, .why = why_of(why)};
    leaves.emplace(config.own, leave);
    control.push(wire::PacketType::leave, first().parent.where(), wire::write(leave));
    outcome.culprit = config.own;
    outcome.why = std::move(why);
    end(Phase::failed);
    if (is_being_dropped()) {
        for (Stripe& stripe : stripes) {
            stripe.children.dismiss(reassembly.operations());
        }
    }
    const auto hops = static_cast<int>(first().tree.depth(first().tree.place(config.own)));
    stays_until = now + limits.end_timeout + hops * limits.round_trips * round_trip();
}

/// The longest RTT to a parent or a child.
Duration RelayReceiver::RelayReception::round_trip() const {
    Duration longest{};
    for (const Stripe& stripe : stripes) {
        longest = std::max({longest, stripe.parent.round_trip(), stripe.children.round_trip()});
    }
    return longest;
}

/// The others go on without this member. (Where they do not, RELEASE comes at once, and is to
/// be passed on.)
bool RelayReceiver::RelayReception::is_being_dropped() const {
    return config.drops_failed && outcome.phase == Phase::failed && !released;
}

void RelayReceiver::RelayReception::end(Phase phase) {
    outcome.phase = phase;
    for (Stripe& stripe : stripes) {
        stripe.children.stop();
    }
}

void RelayReceiver::RelayReception::take(Instant now, OperationBatch& batch) {
    auto& operations = reassembly.operations();
    for (Stripe& stripe : stripes) {
        if (!is_over()) {
            stripe.children.order_loads(operations, reassembly.next_ticket());
        }
    }
    while (!operations.empty() && !batch.full()) {
        disk_watch.on_ordered(now, operations.front());
        batch.operations.push_back(operations.pop_front());
    }
}

bool RelayReceiver::RelayReception::can_serve() const {
    return std::ranges::any_of(stripes, [](const Stripe& stripe) {
        return stripe.children.can_send() || stripe.children.wants_loads();
    });
}

std::optional<Instant> RelayReceiver::RelayReception::next() const {
    if (!is_started || (!is_over() && can_serve())) {
        return kLongAgo;
    }
    if (is_over() && !stays_until) {
        return std::nullopt;
    }
    std::optional<Instant> first_due = stays_until;
    for (const Stripe& stripe : stripes) {
        first_due = earlier(first_due, earlier(stripe.pulse_at, stripe.parent.deadline()));
    }
    if (is_over()) {
        return first_due;
    }
    first_due = earlier(first_due, earlier(done_at(), shut_out_at()));
    first_due = earlier(first_due, earlier(unheard_at(), gainless_at()));
    if (const auto timeout = disk_timeout()) {
        first_due = earlier(first_due, disk_watch.deadline(*timeout));
    }
    return first_due;
}

// ---- the contract

RelayReceiver::RelayReceiver(const CoreConfig& config,
                             std::uint32_t degree,
                             RelayLimits limits,
                             Limits common)
    : reception_{std::make_unique<RelayReception>(config, degree, limits, common)} {
}
RelayReceiver::RelayReceiver(RelayReceiver&&) noexcept = default;
RelayReceiver::~RelayReceiver() = default;

void RelayReceiver::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        reception_->on_datagram(now, datagram);
    }
    reception_->work(now);
}

void RelayReceiver::on_links(Instant now, std::span<const LinkEvent> events) {
    for (const LinkEvent& event : events) {
        reception_->on_link(now, event);
    }
    reception_->work(now);
}

void RelayReceiver::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& completed : completions) {
        reception_->on_completion(now, completed);
    }
    reception_->work(now);
}

void RelayReceiver::on_time(Instant now) {
    reception_->work(now);
}

void RelayReceiver::on_abort(Instant now, const Error& why) {
    reception_->fail(now, why);
    reception_->work(now);
}

void RelayReceiver::on_all_listen(Instant now) {
    reception_->work(now);
}

void RelayReceiver::next_sends(Instant /*now*/, SendBatch& sends) {
    const std::size_t before = sends.packets;
    reception_->control.drain(sends, reception_->numbers);
    for (Stripe& stripe : reception_->stripes) {
        stripe.children.fill(sends, reception_->numbers);
    }
    reception_->outcome.packets_sent += sends.packets - before;
}

void RelayReceiver::next_operations(Instant now, OperationBatch& operations) {
    reception_->take(now, operations);
}

std::optional<Instant> RelayReceiver::deadline() const {
    return reception_->next();
}

const Outcome& RelayReceiver::outcome() const {
    return reception_->outcome;
}

}  // namespace stage::core
