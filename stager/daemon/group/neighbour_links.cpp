#include "stager/daemon/group/neighbour_links.h"

#include <algorithm>

namespace stage {

NeighbourLinks::NeighbourLinks(const GroupSeat& seat, const GroupTimes& times, Instant now)
    : seat_{seat},
      times_{times},
      branches_{seat.tree, seat.self, times.branch},
      above_{seat.is_root() ? Above::root : Above::lost},
      parent_until_{now + times.orphan_max()} {
    branches_.start(now);
}

bool NeighbourLinks::take_parent(Instant now, Rank from) {
    if (seat_.is_root() || !seat_.tree.is_ancestor(from, seat_.self)) {
        return false;
    }
    if (above_ == Above::up && parent_ != from) {
        hang_up(parent_);
    }
    above_ = Above::up;
    parent_ = from;
    parent_until_ = now + times_.branch.silence_max;
    return true;
}

void NeighbourLinks::on_down(Instant now, Rank rank, const Error& why, bool may_redial) {
    if (above_ == Above::up && rank == parent_) {
        above_ = Above::lost;
        parent_until_ = now + (rank == Rank{0} ? times_.rootless_max() : times_.orphan_max());
    } else if (doubt_until_) {
        closed_in_doubt_.emplace_back(rank, why.sentence());
    } else {
        branches_.on_down(now, rank, why.sentence(), may_redial);
    }
}

NeighbourLinks::Side NeighbourLinks::on_heard(Instant now, Rank from) {
    if (above_ == Above::up && from == parent_) {
        parent_until_ = now + times_.branch.silence_max;
        return Side::above;
    }
    branches_.on_heard(now, from);
    return branches_.is_up(from) ? Side::below : Side::none;
}

void NeighbourLinks::on_settled(Rank from) {
    branches_.on_settled(from);
    hang_up(from);
}

void NeighbourLinks::check_parent(Instant now) {
    if (above_ == Above::up && now >= parent_until_) {
        hang_up(parent_);
        above_ = Above::lost;
        parent_until_ = now + times_.orphan_max();
    }
}

void NeighbourLinks::excuse(Duration pause) {
    branches_.excuse(pause);
    parent_until_ += pause;
}

void NeighbourLinks::doubt(Instant now, Duration pause) {
    if (pause + 2 * times_.pulse >= times_.silence_min()) {
        pause_ = std::max(pause, pause_);
        doubt_until_ = now + 2 * times_.pulse;
    }
}

Duration NeighbourLinks::end_doubt(Instant now, bool is_over) {
    doubt_until_.reset();
    const auto closed = std::exchange(closed_in_doubt_, {});
    if (!is_over && above_ != Above::lost) {
        for (const auto& [rank, why] : closed) {
            branches_.on_down(now, rank, why);
        }
    }
    return std::exchange(pause_, Duration{0});
}

/// A link's error is a complete sentence; a branch that fell silent has left none.
std::string NeighbourLinks::sentence_of(const LostBranch& lost) const {
    if (!lost.why.empty()) {
        return lost.why;
    }
    const std::size_t rank = lost.rank.index();
    const std::string place = rank < seat_.places.size() ? " at " + seat_.places[rank] : "";
    return lost.was_up
               ? "stagecastd" + place +
                     " fell silent during the stage; is it stopped, or is the network down?"
               : "stagecastd does not answer" + place +
                     "; is it running there, and does a firewall block Port?";
}

void NeighbourLinks::connect() {
    for (const Rank rank : branches_.take_connects()) {
        command(group::Connect{rank});
    }
}

std::optional<Instant> NeighbourLinks::deadline(bool is_over) const {
    std::optional<Instant> first = branches_.deadline();
    const auto sooner = [&first](Instant other) {
        first = first ? std::min(*first, other) : other;
    };
    if (doubt_until_) {
        sooner(*doubt_until_);
    }
    if (above_ != Above::root && (above_ == Above::up || !is_over)) {
        sooner(parent_until_);
    }
    return first;
}

void NeighbourLinks::send_below(const TreeMessage& message) {
    for (const Rank rank : branches_.listeners()) {
        send(rank, message);
    }
}

void NeighbourLinks::send_above(TreeMessage message) {
    if (above_ == Above::up) {
        send(parent_, std::move(message));
    }
}

void NeighbourLinks::hang_up_below() {
    for (const Rank rank : branches_.listeners()) {
        hang_up(rank);
    }
}

}  // namespace stage
