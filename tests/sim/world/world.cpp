#include "tests/sim/world/world.h"

#include <algorithm>

namespace stage::sim {
namespace {

constexpr std::size_t kComplaintsMax = 20;

const char* name(core::Phase phase) {
    const char* names[] = {"wiring", "moving", "holding", "released", "failed", "handed over"};
    return names[static_cast<std::size_t>(phase)];
}

std::string ms(Duration time) {
    return std::to_string(time.count() / 1'000'000) + " ms";
}

}  // namespace

World::World(Plan plan, Host::Dress dress)
    : plan_{std::move(plan)},
      prng_{plan_.seed ^ kWorldChance},
      network_{
          plan_,
          events_,
          prng_,
          [this](std::uint16_t member, Instant at, const TrainUse& train, PacketMask mask) {
              hosts_[member]->deliver(at, train, mask);
          }} {
    for (const Strike& strike : plan_.strikes) {
        until_strike_.push_back(strike.nth);
    }
    for (std::uint16_t rank = 0; rank < plan_.members; ++rank) {
        hosts_.push_back(std::make_unique<Host>(
            plan_,
            rank,
            Host::Dependencies{
                .events = events_,
                .network = network_,
                .prng = prng_,
                .complain = [this, rank](const std::string& what) { complain(rank, what); },
                .dress = dress,
                .see = [this, rank](Seen seen,
                                    std::uint64_t many) { on_seen(rank, seen, many); }}));
    }
    for (const FlowPlan& flow : plan_.flows) {
        flows_.push_back(std::make_unique<CubicFlow>(plan_, flow, network_, events_));
    }
}

void World::complain(std::uint16_t rank, const std::string& what) {
    if (complaints_.size() < kComplaintsMax) {
        complaints_.push_back("member " + std::to_string(rank) + " at " +
                              ms(events_.now().time_since_epoch()) + ": " + what);
    }
}

void World::on_seen(std::uint16_t rank, Seen seen, std::uint64_t many) {
    for (std::size_t i = 0; i < plan_.strikes.size(); ++i) {
        const Strike& strike = plan_.strikes[i];
        std::uint64_t& left = until_strike_[i];
        if (left == 0 || strike.when != seen || strike.of.value_or(rank) != rank) {
            continue;
        }
        left -= std::min(left, many);
        if (left == 0) {
            events_.at<&World::strike>(events_.now(), *this, i);
        }
    }
}

void World::strike(std::uint64_t index) {
    const Strike& strike = plan_.strikes[index];
    switch (strike.harm) {
        case Harm::crash:
            return hosts_[strike.member]->crash(0);
        case Harm::abort:
            return hosts_[strike.member]->abort(0);
        case Harm::cut_off:
        case Harm::deafen:
        case Harm::mute:
            return cut_off(strike);
    }
}

void World::cut_off(const Strike& strike) {
    const Duration now = events_.now().time_since_epoch();
    plan_.partitions.push_back({.members = {strike.member},
                                .begin = now,
                                .end = now + strike.lasts,
                                .hears_nothing = strike.harm != Harm::mute,
                                .says_nothing = strike.harm != Harm::deafen});
}

/// Chance takes so much that pulls take it for congestion.
bool World::is_lossy() const {
    constexpr std::uint64_t kMuchPpm = 100'000;
    const LossPlan& loss = plan_.loss;
    std::uint64_t ppm = std::uint64_t{loss.independent_ppm} + loss.shared_ppm +
                        std::uint64_t{loss.burst_ppm} * loss.burst_packets;
    for (const RailFault& fault : plan_.rail_faults) {
        ppm += (fault.harm == RailHarm::lost ? 1'000'000U : fault.loss_ppm) / plan_.rails;
    }
    return ppm > kMuchPpm;
}

/// The time by which even a group with faults must be over.
Duration World::time_limit() const {
    const bool healthy = plan_.must_succeed();
    // The rate search may fall to less than half of the slowest link, and with many losses, or
    // if each loss counts as congestion, to the least rate.
    const std::uint64_t least = plan_.is_acker_paced || is_lossy() ? 125'000 : 1'250'000;
    const Duration search =
        plan_.configured_bytes_per_s > 0
            ? Duration{}
            : seconds{static_cast<std::int64_t>(plan_.object_bytes() * 3 / least)};
    // Blocks leave when others have gone: each some of two intervals between reports later.
    const Duration windows =
        milliseconds{80} *
        static_cast<std::int64_t>(plan_.block_bytes.size() / plan_.resident_blocks);
    const Duration data = plan_.wire_time() * 20 + search;
    Duration disks{};
    // (Two operations of each block, and two steps of each that may be late.)
    Duration names =
        plan_.disk_step_late_max * static_cast<std::int64_t>(plan_.block_bytes.size() * 4);
    for (const MemberPlan& member : plan_.member) {
        const std::uint64_t rate =
            member.disk_bytes_per_s > 0 ? member.disk_bytes_per_s : plan_.disk_bytes_per_s;
        disks = std::max(disks,
                         Duration{static_cast<Duration::rep>(plan_.object_bytes() * 4'000 /
                                                             rate * 1'000'000)});
        names += member.finish_takes;  // The source's after the others'.
        names += member.disk_stands_for;
        disks =
            std::max(disks, member.packet_cost * static_cast<std::int64_t>(plan_.chunks() * 8));
    }
    Duration faults = healthy ? Duration{} : plan_.stall_timeout * 6 + plan_.ready_timeout;
    for (const Strike& strike : plan_.strikes) {
        faults += strike.lasts + seconds{1};
    }
    for (const Partition& partition : plan_.partitions) {
        faults += std::max(partition.end - plan_.heals_at, Duration{});
    }
    // What is fetched is read back, and leaves an uplink once for each member that fetches it.
    const bool is_fetched = std::ranges::any_of(plan_.member, [](const MemberPlan& each) {
        return each.hears_group_until.has_value();
    });
    const int times = is_fetched ? 3 : 1;
    const Duration leg =
        plan_.leg.arrival(static_cast<std::uint32_t>(plan_.block_bytes.size() - 1));
    return plan_.heals_at + leg + (data + disks) * times + windows + names + faults +
           seconds{6};
}

bool World::is_over() const {
    return std::ranges::all_of(hosts_, [](const auto& host) { return host->is_over(); });
}

void World::run() {
    for (const auto& host : hosts_) {
        host->start();
    }
    for (const auto& flow : flows_) {
        flow->start();
    }
    const Instant limit{time_limit()};
    while (!events_.is_empty() && !is_over() && complaints_.empty()) {
        if (events_.next() > limit || events_.count() > plan_.events_max) {
            complaints_.push_back("not over after " + ms(time_limit()) + " and " +
                                  std::to_string(events_.count()) + " events");
            break;
        }
        // The end is checked only now and then, because that looks at all members.
        const std::uint64_t many = std::max<std::uint64_t>(64, plan_.members);
        for (std::uint64_t i = 0; i < many && !events_.is_empty() && events_.next() <= limit;
             ++i) {
            events_.step();
        }
    }
    check_end();
}

Duration World::held_after() const {
    Duration last{};
    for (std::uint16_t rank = 0; rank < plan_.members; ++rank) {
        last = std::max(last, held_after(rank));
    }
    return last;
}

Duration World::held_after(std::uint16_t rank) const {
    return hosts_[rank]->held_at().value_or(Instant{}).time_since_epoch();
}

Duration World::ready_after() const {
    return hosts_[plan_.source]->first_data_at().value_or(Instant{}).time_since_epoch();
}

double World::times_wire() const {
    return static_cast<double>((held_after() - ready_after()).count()) /
           static_cast<double>(plan_.wire_time().count());
}

double World::times_wire(std::uint16_t rank) const {
    return static_cast<double>((held_after(rank) - ready_after()).count()) /
           static_cast<double>(plan_.wire_time().count());
}

bool World::all_released() const {
    return std::ranges::all_of(hosts_, [](const auto& host) {
        return host->outcome().phase == core::Phase::released;
    });
}

void World::check_end() {
    // (One that the source left alone knows only of itself.)
    const bool says_all = std::ranges::any_of(hosts_, [](const auto& host) {
        return host->outcome().phase == core::Phase::released &&
               !host->outcome().is_end_unheard;
    });
    for (std::uint16_t rank = 0; rank < plan_.members; ++rank) {
        const Host& host = *hosts_[rank];
        if (says_all && !host.content().is_whole() && !is_dropped(rank)) {
            complain(rank, "a member was released, but this one does not hold it");
        }
        if (host.is_dead()) {
            continue;
        }
        if (!host.is_over()) {
            complain(rank, std::string{"hangs, "} + name(host.outcome().phase));
        }
        if (host.outcome().phase == core::Phase::failed) {
            check_named(rank);
        }
        if (is_dropped(rank) && !plan_.is_faulty(plan_.member[rank])) {
            complain(rank, "was dropped, though nothing is wrong with it");
        }
        const std::uint64_t once = host.content().chunks_stored();
        if (once > host.object().chunks_all()) {
            complain(rank, "stored more chunks than there are");
        }
    }
    check_agreed();
    if (!network_.is_honest()) {
        complaints_.push_back("a link carried more than its rate allows");
    }
}

/// What RELEASE said is the same for all that heard it: no member fails by it
/// where another was released, and all know of the same dropped ones, as far as
/// it had room for these.
void World::check_agreed() {
    const Host* knows_most = nullptr;
    for (const auto& host : hosts_) {
        const core::Outcome& outcome = host->outcome();
        const bool has_heard =
            outcome.phase == core::Phase::released && !outcome.is_end_unheard;
        if (has_heard && (knows_most == nullptr ||
                          outcome.dropped.size() > knows_most->outcome().dropped.size())) {
            knows_most = host.get();
        }
    }
    if (knows_most == nullptr) {
        return;
    }
    const auto& all = knows_most->outcome().dropped;
    for (std::uint16_t rank = 0; rank < plan_.members; ++rank) {
        const core::Outcome& outcome = hosts_[rank]->outcome();
        const auto& dropped = outcome.dropped;
        const bool is_part = dropped.size() <= all.size() && dropped.empty() == all.empty() &&
                             std::equal(dropped.begin(),
                                        dropped.end(),
                                        all.begin(),
                                        [](const auto& one, const auto& other) {
                                            return one.rank == other.rank;
                                        });
        if (outcome.phase == core::Phase::released && !outcome.is_end_unheard && !is_part) {
            complain(rank, "does not know the same dropped members as others");
        }
        const std::uint16_t culprit = outcome.culprit.value();
        if (outcome.phase == core::Phase::failed && culprit != rank &&
            culprit != plan_.source && !hosts_[rank]->is_dead()) {
            complain(rank,
                     "fails because of member " + std::to_string(culprit) +
                         ", and others were released");
        }
    }
}

/// The source is at fault, or no receiver is left.
bool World::may_all_fail() const {
    const auto healthy = std::ranges::count_if(
        plan_.member, [this](const MemberPlan& each) { return !plan_.is_faulty(each); });
    return plan_.is_faulty(plan_.member[plan_.source]) || healthy == 1;
}

/// The source, or where it is dead another member, says so.
bool World::is_dropped(std::uint16_t rank) const {
    return std::ranges::any_of(hosts_, [rank](const auto& host) {
        return std::ranges::any_of(host->outcome().dropped, [rank](const auto& member) {
            return member.rank.value() == rank;
        });
    });
}

/// A failed member names a member that is really at fault; and none fails where nothing is
/// wrong.
void World::check_named(std::uint16_t rank) {
    const core::Outcome& outcome = hosts_[rank]->outcome();
    const std::uint16_t culprit = outcome.culprit.value();
    if (plan_.must_succeed()) {
        complain(rank, "failed, though every fault healed: " + outcome.why->sentence());
        return;
    }
    const MemberPlan& named = plan_.member[culprit];
    if (plan_.drops_failed && culprit != rank && !may_all_fail()) {
        complain(rank, "failed with another, although that could be dropped");
    }
    const bool is_guilty = plan_.is_faulty(named);
    // A member that no longer hears the source, because it crashed or ended, can only name
    // itself.
    const bool lost_source =
        culprit == rank && outcome.why->sentence().find("the source") != std::string::npos;
    if (!is_guilty && !lost_source && culprit != plan_.source) {
        complain(rank,
                 "names member " + std::to_string(culprit) +
                     ", which is not at fault: " + outcome.why->sentence());
    }
}

std::string World::report() const {
    std::string text;
    for (std::uint16_t rank = 0; rank < plan_.members; ++rank) {
        const Host& host = *hosts_[rank];
        const core::Outcome& outcome = host.outcome();
        text += "  " + std::to_string(rank) + ": " + (host.is_dead() ? "dead, " : "") +
                name(outcome.phase);
        if (host.held_at()) {
            text += ", held after " + ms(host.held_at()->time_since_epoch());
        }
        text += ", lost " + std::to_string(outcome.packets_lost) + ", repaired " +
                std::to_string(outcome.packets_repaired) + ", sent " +
                std::to_string(host.data_sent()) + " data, unopened " +
                std::to_string(host.unopened()) + ", overflowed " +
                std::to_string(host.overflowed());
        if (outcome.why) {
            text += ", names " + std::to_string(outcome.culprit.value()) + ": " +
                    outcome.why->sentence();
        }
        text += "\n";
    }
    return text;
}

}  // namespace stage::sim
