#include "tests/sim/host/host.h"

#include "tests/sim/host/make_core.h"

#include <poll.h>

#include <algorithm>

namespace stage::sim {
namespace {

constexpr std::uint32_t kTurnsAtOnceMax = 200;
constexpr Duration kSessionWaitMax = milliseconds{100};

seal::SessionKeys keys_of(const Plan& plan, std::uint16_t rank) {
    seal::SessionKeys keys;
    keys.protection = plan.is_really_sealed ? Protection::encrypt : Protection::none;
    keys.own = Rank{rank};
    keys.members.resize(plan.members);
    for (std::uint16_t member = 0; member < plan.members; ++member) {
        keys.members[member][0] = static_cast<std::byte>(member & 0xffU);
        keys.members[member][1] = std::byte{1};
    }
    return keys;
}

/// What an outbox looks at.
core::CoreConfig outbox_config(std::uint16_t rank, const Object& object, std::uint32_t demux) {
    core::CoreConfig config;
    config.own = Rank{rank};
    config.session = demux;
    config.chunk_bytes = object.held_chunk_bytes();
    return config;
}

bool is_readable(int descriptor) {
    pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, 0) > 0;
}

}  // namespace

Host::Host(const Plan& plan, std::uint16_t rank, const Dependencies& world)
    : plan_{plan},
      own_{plan.member[rank]},
      events_{world.events},
      clock_{own_, events_},
      complain_{world.complain},
      see_{world.see},
      own_chance_{world.prng.next()},
      object_{plan},
      content_{plan, rank, object_, world.prng, complain_},
      driver_{plan, rank, object_, clock_, world.network, events_, own_chance_},
      core_{world.dress ? world.dress(rank, [&] { return make_core(plan, rank, own_chance_); })
                        : make_core(plan, rank, own_chance_),
            plan,
            rank,
            object_,
            complain_},
      seal_{keys_of(plan, rank)},
      spare_{plan.spare_blocks.value_or(plan.spill_blocks), object_.held_bytes_max()},
      blocks_{plan.resident_blocks + (plan.spill_blocks > 0 ? 0 : Session::kLeavingBlocks),
              object_.held_bytes_max(),
              plan.spill_blocks > 0 ? &spare_ : nullptr},
      outbox_{driver_,
              seal_,
              blocks_,
              outbox_config(rank, object_, seal_.demux()),
              plan.stream_flows},
      disk_{plan,
            rank,
            {.content = content_,
             .events = events_,
             .prng = own_chance_,
             .wake = [this] { wake_at(events_.now() + own_.wake_latency); },
             .complain = complain_}},
      flows_{make_flows()},
      session_{{.core = core_,
                .driver = driver_,
                .seal = seal_,
                .blocks = blocks_,
                .disk = disk_,
                .outbox = outbox_,
                .watcher = *this,
                .flows = flows_.get(),
                .stamp_shift = &SimDriver::stamp_shift}},
      stalls_{plan.stalls, plan.seed * 1000 + rank} {
    seal_.prepare(Rank{plan.source});
}

/// Makes the flows as broadcast.cpp does: the source hears nothing by multicast.
std::unique_ptr<Flows> Host::make_flows() {
    if (plan_.stream_flows < 2 || &own_ == &plan_.member[plan_.source]) {
        return nullptr;
    }
    std::vector<std::unique_ptr<FlowFeed>> feeds;
    const SimFlow::Dependencies world{
        .driver = driver_, .events = events_, .prng = own_chance_, .wake = [this] {
            if (!stream_stays()) {
                wake_at(events_.now() + wake_latency());
            }
        }};
    const auto rank = static_cast<std::uint16_t>(&own_ - plan_.member.data());
    for (std::uint8_t flow = 0; flow < plan_.stream_flows; ++flow) {
        auto feed = std::make_unique<SimFlow>(
            plan_, rank, world, seal_.flow(Rank{plan_.source}, Flow{flow}));
        feeds_.push_back(feed.get());
        feeds.push_back(std::move(feed));
    }
    return std::make_unique<Flows>(std::move(feeds),
                                   plan_.rails > 1 ? Flows::kRailSkew : Duration{});
}

void Host::start() {
    wake_at(Instant{own_.start_at});
    if (own_.crash_at) {
        events_.at<&Host::crash>(Instant{*own_.crash_at}, *this);
    }
    if (own_.abort_at) {
        events_.at<&Host::abort>(Instant{*own_.abort_at}, *this);
    }
    if (plan_.all_listen_at) {
        events_.at<&Host::all_listen>(Instant{*plan_.all_listen_at}, *this);
    }
}

void Host::crash(std::uint64_t) {
    is_dead_ = true;
    end();
}

void Host::abort(std::uint64_t) {
    if (!is_dead_ && !over_at_ && events_.now() >= Instant{own_.start_at}) {
        is_aborted_ = true;
        session_.hear_watcher(clock_.now());
        turn();
    }
}

void Host::all_listen(std::uint64_t) {
    if (!is_dead_ && !over_at_) {
        session_.hear_watcher(clock_.now());
        turn();
    }
}

Status Host::on_readable() {
    return is_aborted_ ? Status{Error{Blame::user, "aborted from outside"}} : Status{};
}

void Host::deliver(Instant at, const TrainUse& train, PacketMask mask) {
    if (is_dead_ || over_at_ || at < Instant{own_.start_at}) {
        return;
    }
    at = plan_.stalls.holds_kernel ? stalls_.awake(at) : at;
    if (train->to_group && flows_) {
        return feeds_[train->header.flow.index()]->put(at, train, mask);
    }
    if (driver_.inbox().put(at, train, mask) && !(train->to_group && stream_rests())) {
        wake_at(at + wake_latency());
    }
}

/// At most one event is on its way that comes in time; a later one is planned by that.
void Host::wake_at(Instant when) {
    when = stalls_.awake(std::max({when, events_.now(), cpu_busy_until_}));
    wake_ = std::min(wake_, when);
    if (wake_ < queued_) {
        queued_ = wake_;
        events_.at<&Host::wake>(
            queued_, *this, static_cast<std::uint64_t>(queued_.time_since_epoch().count()));
    }
}

void Host::wake(std::uint64_t queued) {
    const Instant planned{Duration{static_cast<Duration::rep>(queued)}};
    if (planned != queued_ || is_dead_) {
        return;
    }
    queued_ = kNever;
    if (wake_ > events_.now()) {
        wake_at(wake_);
        return;
    }
    wake_ = kNever;
    turn();
}

void Host::turn() {
    if (over_at_) {
        return;
    }
    turns_at_once_ = turned_at_ == events_.now() ? turns_at_once_ + 1 : 0;
    turned_at_ = events_.now();
    if (turns_at_once_ == kTurnsAtOnceMax) {
        complain_("it spins: turn after turn at one instant");
    }
    waits_ = session_.turn(clock_.now(), {.peers = true, .stream = true});
    cpu_busy_until_ =
        events_.now() + own_.packet_cost * static_cast<std::int64_t>(driver_.taken());
    check();
    if (!plan_.strikes.empty()) {
        tell_seen();
    }
    sleep();
}

/// (A strike comes as an event of its own: nothing happens to the host within
/// its turn.)
void Host::tell_seen() {
    using wire::PacketType;
    const auto sent = [this](PacketType type) {
        return core_.did().sent[static_cast<std::size_t>(type)];
    };
    const std::array<std::uint64_t, 7> now{sent(PacketType::ready),
                                           sent(PacketType::lacking),
                                           sent(PacketType::request),
                                           sent(PacketType::report),
                                           sent(PacketType::done),
                                           held_at_ ? 1U : 0U,
                                           sent(PacketType::data)};
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i] > seen_[i]) {
            see_(static_cast<Seen>(i), now[i] - std::exchange(seen_[i], now[i]));
        }
    }
}

void Host::check() {
    const core::Outcome& now = outcome();
    const bool claims = now.phase == core::Phase::holding || now.phase == core::Phase::released;
    if (claims && !content_.is_whole()) {
        complain_("it says that it holds what it doesn't");
    }
    if (claims && !held_at_) {
        held_at_ = events_.now();
    }
    if (now.phase == core::Phase::failed && !now.why) {
        complain_("it failed without saying why");
    }
    // (Where a core has no deadline the session looks every 100 ms; else it is rarely so late.)
    const bool may_hang = waits_.until - clock_.now() >= kSessionWaitMax;
    if (may_hang && !session_.is_over() && !core_.deadline() && outbox_.is_empty()) {
        complain_("it waits for nothing");
    }
}

/// How late the next wake-up comes, whatever causes it.
void Host::draw_lateness() {
    late_ = Duration::zero();
    if (plan_.wake_late_max > Duration::zero() && own_chance_.chance_ppm(250'000)) {
        const auto most = static_cast<std::uint64_t>(plan_.wake_late_max.count());
        late_ = Duration{static_cast<Duration::rep>(own_chance_.below(most))};
    }
}

Duration Host::wake_latency() const {
    return plan_.wake_latency + own_.wake_latency + late_;
}

void Host::sleep() {
    if (session_.is_over()) {
        end();
        return;
    }
    draw_lateness();
    const Instant due = clock_.world_time(waits_.until);
    wake_at(due + (due > events_.now() ? wake_latency() : Duration{}));
    if (waits_.outlets != 0) {
        wake_at(driver_.room_at(waits_.outlets));
    }
    if (const auto first = driver_.inbox().first_at(stream_rests())) {
        wake_at(*first + wake_latency());
    }
    if (flows_ && !stream_stays() && is_readable(flows_->event_fd())) {
        wake_at(events_.now() + wake_latency());
    }
}

void Host::end() {
    over_at_ = over_at_ ? over_at_ : events_.now();
    driver_.inbox().clear();
    disk_.stop(is_dead_);
    if (flows_) {
        flows_->stop();
    }
}

std::uint64_t Host::flows_full() const {
    std::uint64_t times = 0;
    for (const SimFlow* feed : feeds_) {
        times += feed->times_full();
    }
    return times;
}

std::uint64_t Host::overflowed() const {
    return driver_.inbox().overflowed() + (flows_ ? flows_->counters().socket_overflow : 0);
}

}  // namespace stage::sim
