#include "stager/daemon/tree/branches.h"

#include <algorithm>
#include <utility>

namespace stage {

Branches::Branches(Tree tree, Rank self, BranchTimes times)
    : tree_{tree}, self_{self}, times_{times} {
}

void Branches::start(Instant now) {
    for (const Rank child : tree_.children(self_)) {
        adopt(now, child);
    }
}

void Branches::adopt(Instant now, Rank rank) {
    branches_.push_back({.rank = rank,
                         .state = State::connecting,
                         .give_up_at = now + times_.connect_max,
                         .retry_at = now,
                         .why = {},
                         .was_redialled = false});
    connects_.push_back(rank);
}

bool Branches::on_up(Instant now, Rank rank) {
    Branch* branch = find(rank);
    if (branch == nullptr || branch->state != State::connecting) {
        return false;
    }
    branch->state = State::up;
    branch->why.clear();
    branch->give_up_at = now + times_.silence_max;
    return true;
}

void Branches::on_down(Instant now, Rank rank, std::string why, bool may_redial) {
    Branch* branch = find(rank);
    if (branch == nullptr) {
        return;
    }
    const bool was_up = branch->state == State::up;
    if (branch->state == State::connecting && branch->was_redialled) {
        lose(now, rank);  // By the reason for which the link broke.
        return;
    }
    branch->why = std::move(why);
    if (branch->state == State::connecting) {
        branch->state = State::waiting;
        branch->retry_at = now + times_.retry_after;
    } else if (was_up && may_redial && !branch->was_redialled) {
        branch->was_redialled = true;
        branch->state = State::connecting;
        branch->give_up_at = now + times_.connect_max;
        connects_.push_back(rank);
    } else if (was_up) {
        lose(now, rank);
    }
}

void Branches::on_heard(Instant now, Rank rank) {
    Branch* branch = find(rank);
    if (branch != nullptr && branch->state == State::up) {
        branch->give_up_at = now + times_.silence_max;
    }
}

void Branches::on_settled(Rank rank) {
    Branch* branch = find(rank);
    if (branch != nullptr && branch->state == State::up) {
        branch->state = State::settled;
    }
}

void Branches::on_time(Instant now) {
    std::vector<Rank> overdue;
    for (Branch& branch : branches_) {
        if (branch.state == State::settled || branch.state == State::lost) {
            continue;
        }
        if (now >= branch.give_up_at) {
            overdue.push_back(branch.rank);
        } else if (branch.state == State::waiting && now >= branch.retry_at) {
            branch.state = State::connecting;
            connects_.push_back(branch.rank);
        }
    }
    for (const Rank rank : overdue) {
        lose(now, rank);
    }
}

void Branches::hurry(Instant now, Duration silence) {
    times_.silence_max = std::min(times_.silence_max, silence);
    for (Branch& branch : branches_) {
        branch.give_up_at = std::min(branch.give_up_at, now + times_.silence_max);
    }
}

void Branches::hurry(Instant now, Rank rank, Duration silence) {
    if (Branch* branch = find(rank)) {
        branch->give_up_at = std::min(branch->give_up_at, now + silence);
    }
}

void Branches::excuse(Duration pause) {
    for (Branch& branch : branches_) {
        branch.give_up_at += pause;
    }
}

void Branches::lose(Instant now, Rank rank) {
    Branch* branch = find(rank);
    const bool was_up = branch->state == State::up;
    branch->state = State::lost;
    lost_.push_back({.rank = rank, .was_up = was_up, .why = branch->why});
    for (const Rank child : tree_.children(rank)) {
        adopt(now, child);
    }
}

std::optional<Instant> Branches::deadline() const {
    std::optional<Instant> first;
    for (const Branch& branch : branches_) {
        if (branch.state == State::settled || branch.state == State::lost) {
            continue;
        }
        const Instant next = branch.state == State::waiting
                                 ? std::min(branch.retry_at, branch.give_up_at)
                                 : branch.give_up_at;
        first = first ? std::min(*first, next) : next;
    }
    return first;
}

std::vector<Rank> Branches::take_connects() {
    return std::exchange(connects_, {});
}

std::vector<LostBranch> Branches::take_lost() {
    return std::exchange(lost_, {});
}

bool Branches::is_up(Rank rank) const {
    return std::any_of(branches_.begin(), branches_.end(), [&](const Branch& branch) {
        return branch.rank == rank && branch.state == State::up;
    });
}

std::vector<Rank> Branches::kept() const {
    std::vector<Rank> ranks;
    for (const Branch& branch : branches_) {
        if (branch.state != State::lost) {
            ranks.push_back(branch.rank);
        }
    }
    return ranks;
}

std::vector<Rank> Branches::listeners() const {
    std::vector<Rank> ranks;
    for (const Branch& branch : branches_) {
        if (branch.state == State::up) {
            ranks.push_back(branch.rank);
        }
    }
    return ranks;
}

bool Branches::all_settled() const {
    return std::all_of(branches_.begin(), branches_.end(), [](const Branch& branch) {
        return branch.state == State::settled || branch.state == State::lost;
    });
}

Branches::Branch* Branches::find(Rank rank) {
    const auto found = std::find_if(branches_.begin(), branches_.end(), [&](const Branch& one) {
        return one.rank == rank;
    });
    return found == branches_.end() ? nullptr : &*found;
}

}  // namespace stage
