#include "transport/core/relay/relay_receiver.h"

#include "transport/base/invariant.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/membership/member_ending.h"
#include "transport/core/membership/release.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace stage::core {
namespace {

/// The number of members of the first tree from this member down, itself included.
std::uint32_t members_from_here(const CoreConfig& config, const Relay& relay) {
    const RelayTree tree{.members = config.members, .source = config.source, .relay = relay};
    return tree.size_below(tree.place(config.own));
}

}  // namespace

RelayReceiver::RelayReceiver(const CoreConfig& config,
                             const Relay& relay,
                             RelayLimits limits,
                             Limits common)
    : config_{with_default_timeouts(config)},
      limits_{scaled(limits, config_)},
      ending_{common.ending},
      control_{control_max(config_)},
      reassembly_{config_, common},
      requests_{config_, limits_, relay.stripes(), reassembly_},
      lag_{limits_.requested_max},
      done_{config_, members_from_here(config_, relay), limits_.done_gather} {
    invariant(config_.own != config_.source && config_.own.value() < config_.members &&
                  config_.source.value() < config_.members &&
                  config_.resident_blocks > relay.stripes(),
              "a receiver is a member of its group and has room for a block to be read back");
    outcome_.chunk_bytes = config_.chunk_bytes;
    for (std::uint32_t stripe = 0; stripe < relay.stripes(); ++stripe) {
        const RelayTree tree{.members = config_.members,
                             .source = config_.source,
                             .relay = relay,
                             .stripe = stripe};
        stripes_.push_back(
            {.tree = tree,
             .parent = {config_, limits_, tree},
             .children = {config_, flow_of(tree), limits_, reassembly_, reassembly_.pool()}});
    }
    if (config_.announced && config_.announced->blocks <= kBlocksMax) {
        begin(*config_.announced);
    }
}

void RelayReceiver::on_datagrams(Instant now, std::span<const Datagram> datagrams) {
    for (const Datagram& datagram : datagrams) {
        on_datagram(now, datagram);
    }
    work(now);
}

void RelayReceiver::on_links(Instant now, std::span<const LinkEvent> events) {
    for (const LinkEvent& event : events) {
        on_link(now, event);
    }
    work(now);
}

void RelayReceiver::on_done(Instant now, std::span<const Completion> completions) {
    for (const Completion& completed : completions) {
        on_completion(now, completed);
    }
    work(now);
}

void RelayReceiver::on_abort(Instant now, const Error& why) {
    fail(now, why);
    work(now);
}

/// The source hears by `gained` that there is progress behind this member, which has all.
void RelayReceiver::on_disk_waiting(Instant now) {
    disk_watch_.on_waiting(now);
    ++waited_;
}

// ---- received packets

void RelayReceiver::on_datagram(Instant now, const Datagram& datagram) {
    const std::size_t flow = datagram.header.flow.index();
    if (flow >= stripes_.size()) {
        reassembly_.operations().push_link(
            OperationKind::hang_up,
            {.peer = datagram.header.rank, .flow = datagram.header.flow});
        return datagram.header.is_data() ? reassembly_.drop(datagram) : void();
    }
    Stripe& stripe = stripes_[flow];
    if (datagram.header.type == wire::PacketType::ready) {
        stripe.parent.on_ready(now, datagram.header.rank);  // Before it counts as the parent's.
    }
    const bool is_parents = stripe.parent.on_packet(now, datagram.header.rank);
    if (is_parents && &stripe == &first()) {
        done_.on_heard(now, stripe.parent.round_trip());
    }
    stripe.children.on_heard(now, datagram.header.rank);
    if (datagram.header.is_data()) {
        wants_blocks() && is_parents ? static_cast<void>(reassembly_.on_data(datagram))
                                     : reassembly_.drop(datagram);
    } else if (is_parents) {
        on_parent(now, stripe, datagram);
    } else {
        on_child(now, stripe, datagram);
    }
}

void RelayReceiver::on_parent(Instant now, Stripe& stripe, const Datagram& datagram) {
    using wire::PacketType;
    if (datagram.header.type == PacketType::offer) {
        const bool is_wanted = offer_body_.empty() && !is_over();
        if (const auto body = wire::read_offer(datagram.body); body && is_wanted) {
            offer_body_.assign(datagram.body.begin(), datagram.body.end());
            on_offer(now, *body);
        }
    } else if (datagram.header.type == PacketType::describe) {
        if (const auto body = wire::read_describe(datagram.body); body && wants_blocks()) {
            reassembly_.on_describe(*body);
        }
    } else if (datagram.header.type == PacketType::lacking) {
        if (wants_blocks()) {
            gained_at_ = now;  // That parent had nothing for it.
            stripe.parent.leave(now);
        }
    } else if (datagram.header.type == PacketType::pulse) {
        if ((datagram.header.flags & wire::kFlagAwaits) != 0) {
            gained_at_ = now;
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
void RelayReceiver::on_sign(Instant now, const wire::Pulse& pulse) {
    const Instant sign = now - std::chrono::microseconds{pulse.queue_us};
    source_at_ = std::max(source_at_, sign);
    was_source_heard_ = true;
    first().pulse_at = std::min(first().pulse_at.value_or(now), now);
    on_parent_holds(now, pulse.packets);
}

/// A slow member of a chain delays all below it, unless it steps aside. (The source says of no
/// block that it holds it.) One that came from another parent does not: if that one stepped
/// aside, too, it is the present parent that sends slowly.
void RelayReceiver::on_parent_holds(Instant now, std::uint32_t blocks) {
    const RelayTree& tree = first().tree;
    const bool is_last = tree.place(config_.own) + 1 == tree.members;
    if (!wants_blocks() || is_aside_ || is_last || !tree.is_chain() ||
        !first().parent.is_first() || !lag_.on_pulse(blocks, reassembly_.map().held()) ||
        first().children.is_empty()) {
        return;
    }
    is_aside_ = true;
    done_.on_alone();
    first().children.dismiss(reassembly_.operations());
    first().parent.step_aside(now);
}

void RelayReceiver::on_child(Instant now, Stripe& stripe, const Datagram& datagram) {
    using wire::PacketType;
    const Rank from = datagram.header.rank;
    if (datagram.header.type == PacketType::ready) {
        on_ready(now, stripe, from);
    } else if (!stripe.children.has(from)) {
        return;
    } else if (datagram.header.type == PacketType::request) {
        if (const auto body = wire::read_request(datagram.body); body && !is_over()) {
            stripe.children.on_request(from, *body, control_);
        }
    } else if (datagram.header.type == PacketType::done) {
        if (const auto body = wire::read_done(datagram.body)) {
            done_.on_done(body->ranks);
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
    } else if (datagram.header.type == PacketType::done_ack) {  // It may have heard first.
        stripe.children.on_confirmed(from);
    }
}

void RelayReceiver::on_offer(Instant now, const wire::Offer& offer) {
    if (offer.chunk_bytes != config_.chunk_bytes || offer.blocks > kBlocksMax) {
        return fail(now,
                    {Blame::node,
                     "the source sends chunks of " + std::to_string(offer.chunk_bytes) +
                         " bytes in " + std::to_string(offer.blocks) +
                         " blocks; this node takes " + std::to_string(config_.chunk_bytes) +
                         " bytes and " + std::to_string(kBlocksMax) + " blocks"});
    }
    const ObjectShape shape{.blocks = offer.blocks, .object_bytes = offer.object_bytes};
    if (config_.announced.value_or(shape) != shape) {
        return fail(now,
                    {Blame::user,
                     "the files have changed since they were announced: " +
                         std::to_string(config_.announced->object_bytes) + " bytes in " +
                         std::to_string(config_.announced->blocks) + " blocks then, now " +
                         std::to_string(shape.object_bytes) + " bytes in " +
                         std::to_string(shape.blocks) + "; try again"});
    }
    if (!reassembly_.has_begun()) {
        begin(shape);
    }
    outcome_.phase = Phase::moving;
    for (Stripe& stripe : stripes_) {
        stripe.children.tell_all(wire::PacketType::offer, offer_body_, control_);
        stripe.children.on_begun(control_);
    }
}

void RelayReceiver::begin(const ObjectShape& shape) {
    reassembly_.begin(shape);
    reassembly_.hold_before(config_.held_before, config_.bytes_held_before);
    object_bytes_ = shape.object_bytes;
}

/// The offer follows when it is here; with it a sign of the source, which the child may need:
/// it leaves this member at once if nothing that it lacks is here.
void RelayReceiver::on_ready(Instant now, Stripe& stripe, Rank child) {
    if (is_aside_ || is_being_dropped()) {
        return reassembly_.operations().push_link(
            OperationKind::hang_up,
            {.to_group = false, .peer = child, .flow = flow_of(stripe.tree)});
    }
    stripe.children.on_ready(now, child);
    if (released_) {
        stripe.children.tell(
            wire::PacketType::release, child, wire::write(*released_), control_);
    } else if (!offer_body_.empty()) {
        stripe.children.tell(wire::PacketType::offer, child, offer_body_, control_);
        stripe.children.tell(
            wire::PacketType::pulse, child, wire::write(pulse_down(now)), control_);
    }
}

/// A member below cannot go on: the source decides what that means.
void RelayReceiver::on_leave(const wire::Ending& from_below) {
    if (leaves_.emplace(from_below.rank, from_below).second) {
        control_.push(wire::PacketType::leave, first().parent.where(), wire::write(from_below));
    }
}

/// It comes by a further tree, too, for members that have no parent in the first one.
void RelayReceiver::on_release(Instant now,
                               const wire::Ending& release,
                               const Destination& from) {
    const auto result =
        result_of(release, config_, is_over() || outcome_.phase == Phase::holding);
    if (released_ || !result) {
        return;
    }
    const wire::Done own{.ranks = {{.first = config_.own, .last = config_.own}}};
    control_.push(wire::PacketType::done_ack, from, wire::write(own));
    if (first().parent.is_connected() && first().parent.where() != from) {
        control_.push(wire::PacketType::done_ack, first().parent.where(), wire::write(own));
    }
    first().parent.stop();
    released_ = release;
    for (const Stripe& stripe : stripes_) {
        stripe.children.tell_all(wire::PacketType::release, wire::write(release), control_);
    }
    stays_until_ = now + limits_.end_timeout + limits_.round_trips * round_trip();
    if (is_over()) {
        return;
    }
    outcome_.culprit = result->culprit;
    outcome_.why = result->why;
    outcome_.dropped = result->dropped;
    end(now, result->phase);
}

void RelayReceiver::on_link(Instant now, const LinkEvent& event) {
    if (event.flow.index() >= stripes_.size()) {
        return;
    }
    Stripe& stripe = stripes_[event.flow.index()];
    stripe.children.on_link(now, event);
    if (!released_) {
        stripe.parent.on_link(now, event);
    }
}

// ---- completed operations

void RelayReceiver::on_completion(Instant now, const Completion& completed) {
    disk_watch_.on_completed(now);
    if (is_over()) {
        return;
    }
    if (completed.kind == OperationKind::load) {
        reassembly_.on_loaded(completed);
        for (Stripe& stripe : stripes_) {
            stripe.children.on_loaded(
                completed.block, completed.verdict == Verdict::good, control_);
        }
    } else if (completed.kind == OperationKind::finish) {
        if (completed.verdict != Verdict::good) {
            return fail(now, completed.why);
        }
        outcome_.phase = Phase::holding;
        outcome_.held_at = now;
        outcome_.bytes_held = object_bytes_;
        done_.on_held();
    } else if (auto placed = reassembly_.on_done(completed); !placed) {
        fail(now, std::move(placed).error());
    }
}

// ---- what becomes due

void RelayReceiver::work(Instant now) {
    if (!std::exchange(is_started_, true)) {
        started_at_ = now;
        source_at_ = now;
        gained_at_ = now;
        for (Stripe& stripe : stripes_) {
            stripe.parent.start(now);
            stripe.pulse_at = now + limits_.pulse;
        }
    }
    forgive(now, absence(limits_, now, first().pulse_at));
    if (!is_over()) {
        watch(now);
    }
    for (Stripe& stripe : stripes_) {
        if (stripe.pulse_at && now >= *stripe.pulse_at) {
            stripe.pulse_at = now + limits_.pulse;
            stripe.children.tell_pulse(pulse_down(now), control_);
            stripe.children.expire(now, config_.stall_timeout / 2, reassembly_.operations());
        }
    }
    connect(now);
    request_blocks(now);
    order_finish();
    report_done(now);
    const bool all_confirmed = released_ && first().children.have_all_confirmed();
    if (stays_until_ && (now >= *stays_until_ || all_confirmed)) {
        stays_until_.reset();
        for (Stripe& stripe : stripes_) {
            stripe.pulse_at.reset();
            stripe.parent.stop();
        }
    }
}

/// The time of its own absence is no other's silence.
void RelayReceiver::forgive(Instant now, Duration away) {
    started_at_ = std::min(started_at_ + away, now);
    source_at_ = std::min(source_at_ + away, now);
    gained_at_ = std::min(gained_at_ + away, now);
    disk_watch_.forgive(now, away);
    for (Stripe& stripe : stripes_) {
        stripe.parent.forgive(now, away);
        stripe.children.forgive(now, away);
    }
}

/// With the age of the last sign from the source: members that the source does not reach
/// find that out together, not one after another.
wire::Pulse RelayReceiver::pulse_down(Instant now) const {
    const auto age = std::chrono::duration_cast<std::chrono::microseconds>(now - source_at_);
    wire::Pulse pulse;
    pulse.queue_us = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(age.count(), 0, std::numeric_limits<std::uint32_t>::max()));
    pulse.packets = reassembly_.has_begun() ? reassembly_.map().held() : 0;
    return pulse;
}

/// What this part of the first tree holds, and who is in it, if that fits; by a further one a
/// sign of life. (The source waits for no block of a member that failed, so that one's blocks
/// do not count, or it would not see that the others hold all.)
wire::Pulse RelayReceiver::pulse_up(const Stripe& stripe) const {
    wire::Pulse pulse;
    const std::uint32_t own = outcome_.phase == Phase::failed ? 0 : own_blocks();
    pulse.packets = own + first().children.blocks_held();
    if (&stripe != &stripes_.front()) {
        return pulse;
    }
    pulse.gained = own_blocks() + stripe.children.gained() + waited_;
    RankSet joined{config_.members};
    joined.add(config_.own);
    if (stripe.children.add_joined(joined)) {
        pulse.joined = joined.runs(wire::kMaxRankRuns + 1, RankSet{config_.members});
    }
    if (pulse.joined.size() > wire::kMaxRankRuns) {
        pulse.joined.clear();
    }
    return pulse;
}

/// A further stripe's parent is left when there is nothing more to receive of it.
void RelayReceiver::connect(Instant now) {
    for (Stripe& stripe : stripes_) {
        if (&stripe != &first() && !lacks_blocks()) {
            stripe.parent.give_up();
        }
        connect(now, stripe);
    }
}

void RelayReceiver::connect(Instant now, Stripe& stripe) {
    stripe.parent.poll(now, control_);
    if (stripe.parent.take_pulse(now)) {
        control_.push(
            wire::PacketType::pulse, stripe.parent.where(), wire::write(pulse_up(stripe)));
    }
    if (const auto left = stripe.parent.take_left()) {
        reassembly_.operations().push_link(OperationKind::hang_up, *left);
    }
    if (const auto next = stripe.parent.take_connect()) {
        reassembly_.operations().push_link(OperationKind::connect, *next);
    }
    if (!stripe.parent.take_connected()) {
        return;
    }
    if (&stripe == &first()) {
        lag_.restart();
        done_.on_parent();
        for (const auto& [rank, leave] : leaves_) {
            control_.push(wire::PacketType::leave, stripe.parent.where(), wire::write(leave));
        }
    }
    if (may_request()) {
        send_request(stripe, requests_.again(stripe.tree.stripe));
    }
}

/// A parent whose disk is slow gives a wrong block until it has verified it: another ancestor
/// may have the right one.
void RelayReceiver::request_blocks(Instant now) {
    for (Stripe& stripe : stripes_) {
        if (may_request() && stripe.parent.is_connected()) {
            send_request(stripe, requests_.more(stripe.tree.stripe));
            if (requests_.take_wrong_again()) {
                stripe.parent.leave(now);
            }
        }
    }
}

void RelayReceiver::send_request(const Stripe& stripe, const wire::Request& request) {
    if (!request.runs.empty()) {
        control_.push(wire::PacketType::request, stripe.parent.where(), wire::write(request));
    }
}

void RelayReceiver::order_finish() {
    const bool holds_all =
        reassembly_.has_begun() && (config_.holds_already || reassembly_.map().holds_all());
    if (reassembly_.has_begun()) {
        outcome_.bytes_held = reassembly_.bytes_held();
    }
    if (!holds_all || is_finishing_ || outcome_.phase != Phase::moving) {
        return;
    }
    is_finishing_ = true;
    reassembly_.operations().push_finish(Ticket{reassembly_.next_ticket()++});
}

std::optional<Instant> RelayReceiver::done_at() const {
    return !is_over() && first().parent.is_heard() ? done_.deadline() : std::nullopt;
}

void RelayReceiver::report_done(Instant now) {
    if (is_over() || !first().parent.is_heard()) {
        return;
    }
    while (const auto body = done_.poll(now)) {
        control_.push(wire::PacketType::done, first().parent.where(), wire::write(*body));
    }
}

std::uint32_t RelayReceiver::own_blocks() const {
    if (!reassembly_.has_begun()) {
        return 0;
    }
    return config_.holds_already ? reassembly_.map().blocks() : reassembly_.map().held();
}

/// When this member has heard no ancestor for too long.
std::optional<Instant> RelayReceiver::unheard_at() const {
    if (is_over()) {
        return std::nullopt;
    }
    if (!was_source_heard_ || outcome_.phase != Phase::holding || !done_.has_reported_own()) {
        const Duration timeout =
            was_source_heard_ ? config_.stall_timeout : config_.ready_timeout;
        return source_at_ + timeout + Duration{1};
    }
    // (What one that connected late heard before counts for little.)
    return std::max(source_at_, *outcome_.held_at) + limits_.unheard_end +
           limits_.round_trips * round_trip() + Duration{1};
}

void RelayReceiver::watch(Instant now) {
    if (const auto at = unheard_at(); at && now >= *at) {
        if (outcome_.phase == Phase::holding) {
            outcome_.is_end_unheard = true;
            return end(now, Phase::released);
        }
        return fail(now,
                    {Blame::node,
                     was_source_heard_
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
void RelayReceiver::watch_connections(Instant now) {
    const auto at = shut_out_at();
    if (!at || now < *at) {
        return;
    }
    const RelayTree& tree = first().tree;
    fail(now,
         {Blame::node,
          "no connection to the data ports (DataPortRange, TCP) could be made: a firewall "
          "closes them"});
    outcome_.culprit = tree.at(tree.parent(tree.place(config_.own)));
    outcome_.is_unconnected = true;
}

/// When this member gives up to find a parent whose host takes its connection.
std::optional<Instant> RelayReceiver::shut_out_at() const {
    return !is_over() && first().parent.is_shut_out()
               ? std::optional{started_at_ + config_.connect_timeout + Duration{1}}
               : std::nullopt;
}

/// A member by whose connections nothing passes but what is short fails itself: the others may
/// go on for hours, or wait for it alone.
void RelayReceiver::watch_gain(Instant now) {
    if (!gainless_at() ||
        std::exchange(placed_before_, reassembly_.placed()) != reassembly_.placed()) {
        gained_at_ = now;
    } else if (now >= *gainless_at()) {
        const std::string time =
            std::to_string(config_.stall_timeout / std::chrono::seconds{1}) + " s";
        fail(now,
             {Blame::node,
              "this node received nothing for " + time +
                  ", although another node sent it blocks: its connections end, or its "
                  "network drops long packets"});
    }
}

/// When this member has gained nothing for too long, although its parents have what it lacks;
/// nothing while its own disk is to store what it lacks first.
std::optional<Instant> RelayReceiver::gainless_at() const {
    const bool gains = wants_blocks() && !is_finishing_ && !reassembly_.is_first_at_disk();
    return gains ? std::optional{gained_at_ + config_.stall_timeout + Duration{1}}
                 : std::nullopt;
}

void RelayReceiver::watch_disk(Instant now) {
    const auto timeout = disk_timeout();
    disk_watch_.look(now, timeout.has_value());
    if (timeout && disk_watch_.is_stuck(now, *timeout)) {
        fail(now, {Blame::node, "writing hangs: the disk of this node is stuck"});
    }
}

/// How long the disk may take for what it is doing now; nothing if it isn't waited for.
std::optional<Duration> RelayReceiver::disk_timeout() const {
    if (outcome_.phase != Phase::moving) {
        return std::nullopt;
    }
    if (is_finishing_) {
        return finish_timeout(config_, ending_);
    }
    return reassembly_.is_first_at_disk() ? std::optional{config_.stall_timeout} : std::nullopt;
}

/// The member stays until RELEASE answers its LEAVE, or a moment. If it is dropped its children
/// need another parent, and are not to wait for that.
void RelayReceiver::fail(Instant now, Error why) {
    if (is_over()) {
        return;
    }
    const wire::Ending leave{
        .outcome = outcome_of(why.blame()), .rank = config_.own, .why = why_of(why)};
    leaves_.emplace(config_.own, leave);
    control_.push(wire::PacketType::leave, first().parent.where(), wire::write(leave));
    outcome_.culprit = config_.own;
    outcome_.why = std::move(why);
    end(now, Phase::failed);
    if (is_being_dropped()) {
        for (Stripe& stripe : stripes_) {
            stripe.children.dismiss(reassembly_.operations());
        }
    }
    const auto hops = static_cast<int>(first().tree.depth(first().tree.place(config_.own)));
    stays_until_ = now + limits_.end_timeout + hops * limits_.round_trips * round_trip();
}

/// The longest RTT to a parent or a child.
Duration RelayReceiver::round_trip() const {
    Duration longest{};
    for (const Stripe& stripe : stripes_) {
        longest = std::max({longest, stripe.parent.round_trip(), stripe.children.round_trip()});
    }
    return longest;
}

/// The others go on without this member. (Where they do not, RELEASE comes at once, and is to
/// be passed on.)
bool RelayReceiver::is_being_dropped() const {
    return config_.drops_failed && outcome_.phase == Phase::failed && !released_;
}

void RelayReceiver::end(Instant now, Phase phase) {
    outcome_.phase = phase;
    for (Stripe& stripe : stripes_) {
        stripe.children.stop(now);
    }
}

void RelayReceiver::next_sends(Instant /*now*/, SendBatch& batch) {
    const std::size_t before = batch.packets;
    control_.drain(batch, numbers_);
    for (Stripe& stripe : stripes_) {
        stripe.children.fill(batch, numbers_);
    }
    outcome_.packets_sent += batch.packets - before;
}

void RelayReceiver::next_operations(Instant now, OperationBatch& batch) {
    auto& operations = reassembly_.operations();
    for (Stripe& stripe : stripes_) {
        if (!is_over()) {
            stripe.children.order_loads(operations, reassembly_.next_ticket());
        }
    }
    disk_watch_.order(now, operations, batch);
}

bool RelayReceiver::can_serve() const {
    return std::ranges::any_of(stripes_, [](const Stripe& stripe) {
        return stripe.children.can_send() || stripe.children.wants_loads();
    });
}

std::optional<Instant> RelayReceiver::deadline() const {
    if (!is_started_ || (!is_over() && can_serve())) {
        return kLongAgo;
    }
    if (is_over() && !stays_until_) {
        return std::nullopt;
    }
    std::optional<Instant> first_due = stays_until_;
    for (const Stripe& stripe : stripes_) {
        first_due = earlier(first_due, earlier(stripe.pulse_at, stripe.parent.deadline()));
    }
    if (is_over()) {
        return first_due;
    }
    first_due = earlier(first_due, earlier(done_at(), shut_out_at()));
    first_due = earlier(first_due, earlier(unheard_at(), gainless_at()));
    if (const auto timeout = disk_timeout()) {
        first_due = earlier(first_due, disk_watch_.deadline(*timeout));
    }
    return first_due;
}

}  // namespace stage::core
