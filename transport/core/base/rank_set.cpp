#include "transport/core/base/rank_set.h"

#include "transport/base/invariant.h"

#include <algorithm>

namespace stage::core {

bool RankSet::has(Rank rank) const {
    const std::size_t index = rank.index();
    return index < members_ && ((words_[index / 64] >> (index % 64)) & 1U) != 0;
}

bool RankSet::add(Rank rank) {
    const std::size_t index = rank.index();
    if (index >= members_ || has(rank)) {
        return false;
    }
    words_[index / 64] |= std::uint64_t{1} << (index % 64);
    ++count_;
    return true;
}

std::uint32_t RankSet::add(std::span<const wire::RankRun> runs) {
    std::uint32_t fresh = 0;
    for (const wire::RankRun& run : runs) {
        const std::uint32_t end = std::min<std::uint32_t>(run.last.value() + 1U, members_);
        for (std::uint32_t rank = run.first.value(); rank < end; ++rank) {
            fresh += add(Rank{static_cast<std::uint16_t>(rank)}) ? 1U : 0U;
        }
    }
    return fresh;
}

void RankSet::clear() {
    std::ranges::fill(words_, 0);
    count_ = 0;
}

bool RankSet::covers(const RankSet& other) const {
    invariant(other.members_ == members_, "two sets of one group are compared");
    for (std::size_t i = 0; i < words_.size(); ++i) {
        if ((other.words_[i] & ~words_[i]) != 0) {
            return false;
        }
    }
    return true;
}

std::optional<Rank> RankSet::first_absent() const {
    for (std::uint32_t rank = 0; rank < members_; ++rank) {
        if (!has(Rank{static_cast<std::uint16_t>(rank)})) {
            return Rank{static_cast<std::uint16_t>(rank)};
        }
    }
    return std::nullopt;
}

std::vector<wire::RankRun> RankSet::absent(std::size_t runs_max) const {
    std::vector<wire::RankRun> found;
    for (std::uint32_t value = 0; value < members_; ++value) {
        const Rank rank{static_cast<std::uint16_t>(value)};
        if (has(rank)) {
            continue;
        }
        const bool is_next = !found.empty() && found.back().last.value() + 1U == value;
        if (is_next || found.size() == runs_max) {
            found.back().last = rank;
        } else {
            found.push_back({.first = rank, .last = rank});
        }
    }
    return found;
}

std::vector<wire::RankRun> RankSet::runs(std::size_t runs_max, const RankSet& except) const {
    std::vector<wire::RankRun> found;
    for (std::uint32_t value = 0; value < members_; ++value) {
        const Rank rank{static_cast<std::uint16_t>(value)};
        if (!has(rank) || except.has(rank)) {
            continue;
        }
        if (!found.empty() && found.back().last.value() + 1U == value) {
            found.back().last = rank;
        } else if (found.size() == runs_max) {
            break;
        } else {
            found.push_back({.first = rank, .last = rank});
        }
    }
    return found;
}

}  // namespace stage::core
