#include "stager/daemon/tree/failures.h"

#include <algorithm>

namespace stage {
namespace {

bool is_before(const Failure& one, const Failure& other) {
    return one.rank < other.rank;
}

std::string name_of(const Failure& failure, const std::vector<std::string>& names) {
    const std::size_t rank = failure.rank.index();
    return rank < names.size() ? names[rank] : "of rank " + std::to_string(rank);
}

}  // namespace

bool Failures::add(Failure failure) {
    const auto same = [&](const Failure& other) { return other.rank == failure.rank; };
    if (std::any_of(named_.begin(), named_.end(), same) ||
        std::find(unnamed_.begin(), unnamed_.end(), failure.rank) != unnamed_.end()) {
        return false;
    }
    failure.sentence = shortened(failure.sentence, kMaxFailureBytes);
    const Rank rank = failure.rank;
    named_.insert(std::lower_bound(named_.begin(), named_.end(), failure, is_before),
                  std::move(failure));
    if (named_.size() <= kMaxNamedFailures) {
        return true;
    }
    const Rank dropped = named_.back().rank;
    unnamed_.push_back(dropped);
    named_.pop_back();
    return dropped != rank;
}

std::vector<Rank> Failures::at_fault(bool with_unnamed) const {
    std::vector<Rank> ranks = with_unnamed ? unnamed_ : std::vector<Rank>{};
    for (const Failure& failure : named_) {
        if (failure.blame != Blame::user) {
            ranks.push_back(failure.rank);
        }
    }
    return ranks;
}

std::vector<Rank> Failures::suspects(std::size_t nodes) const {
    const bool is_all_but_one = named_.size() > 1 && count() + 1 >= nodes;
    const bool are_too_many = !unnamed_.empty() || is_all_but_one;
    return are_too_many ? std::vector<Rank>{} : at_fault(false);
}

Blame Failures::blame() const {
    invariant(!named_.empty(), "there is a failure");
    return named_.front().blame;
}

Rank Failures::culprit() const {
    invariant(!named_.empty(), "there is a failure");
    return named_.front().rank;
}

/// The one node that did not fail, if all others failed alike: the fault may be its.
std::optional<std::string> Failures::only_other(const std::vector<std::string>& names) const {
    const auto is_alike = [this](const Failure& failure) {
        return failure.sentence == named_.front().sentence;
    };
    if (named_.size() < 2 || named_.size() + unnamed_.size() + 1 != names.size() ||
        !std::all_of(named_.begin(), named_.end(), is_alike)) {
        return std::nullopt;
    }
    std::size_t sum = names.size() * (names.size() - 1) / 2;
    for (const Failure& failure : named_) {
        sum -= failure.rank.index();
    }
    for (const Rank rank : unnamed_) {
        sum -= rank.index();
    }
    return sum < names.size() ? std::optional{names[sum]} : std::nullopt;
}

std::string Failures::sentence(const std::vector<std::string>& names) const {
    invariant(!named_.empty(), "there is a failure");
    const Failure& first = named_.front();
    std::string text = "node " + name_of(first, names) + ": " + first.sentence;
    const std::size_t others = named_.size() + unnamed_.size() - 1;
    if (others == 0) {
        return text;
    }
    if (const auto spared = only_other(names)) {
        return text + " (the same on every node but " + *spared + ")";
    }
    text += " (and " + std::to_string(others) + (others == 1 ? " more node" : " more nodes");
    for (std::size_t i = 1; i < named_.size(); ++i) {
        text += (i == 1 ? ": " : "; ") + name_of(named_[i], names) + ": " +
                (named_[i].sentence == first.sentence ? "the same" : named_[i].sentence);
    }
    return text + (unnamed_.empty() ? ")" : "; ...)");
}

}  // namespace stage
