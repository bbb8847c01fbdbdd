#include "transport/core/feedback/done_reporter.h"

#include <algorithm>

namespace stage::core {

Rank CompletionTree::ancestor(Rank rank, std::uint32_t level) const {
    std::uint32_t at_place = place(rank);
    for (std::uint32_t step = 0; step <= level && at_place > 0; ++step) {
        at_place = (at_place - 1) / degree;
    }
    return at(at_place);
}

DoneReporter::DoneReporter(const CoreConfig& config, const EndingLimits& limits)
    : limits_{limits},
      own_{config.own},
      tree_{.members = config.members, .source = config.source, .degree = limits.tree_degree},
      known_{config.members},
      acked_{config.members},
      gap_{limits.done_retry} {
}

void DoneReporter::on_held(Instant now) {
    if (known_.add(own_)) {
        next_at_ = now;
        begin_tries();
    }
}

void DoneReporter::on_done(Instant now, const wire::Done& done) {
    if (known_.add(done.ranks) > 0) {
        on_growth(now);
    }
}

void DoneReporter::begin_tries() {
    tries_ = 0;
    gap_ = limits_.done_retry;
    retry_at_.reset();
}

/// New ranks are known: DONE follows soon, with the news of several children in one.
void DoneReporter::on_growth(Instant now) {
    const Instant soon = said_at_ ? std::max(now, *said_at_ + limits_.done_gather) : now;
    if (!next_at_ || *next_at_ > soon) {
        next_at_ = soon;
    }
}

void DoneReporter::on_ack(Instant now, Rank from, const wire::Done& ack) {
    if (from != listener() || !said_at_) {
        return;
    }
    acked_.add(ack.ranks);
    begin_tries();
    if (acked_.covers(known_)) {
        next_at_ = now + limits_.done_refresh;
    } else {
        on_growth(now);
    }
}

void DoneReporter::poll(Instant now, ControlQueue& out) {
    if (!next_at_ || now < *next_at_ || known_.count() == 0) {
        return;
    }
    const bool is_try = !retry_at_ || now >= *retry_at_;
    if (is_try && tries_ >= limits_.done_tries && listener() != tree_.source) {
        ++level_;
        begin_tries();
        acked_.clear();
    }
    wire::Done body{.ranks = known_.runs(wire::kMaxRankRuns, acked_)};
    if (body.ranks.empty()) {
        body.ranks = known_.runs(wire::kMaxRankRuns, RankSet{tree_.members});
    }
    out.push_peer(wire::PacketType::done, listener(), wire::write(body));
    said_at_ = now;
    if (is_try) {  // News in between gives the listener no less time.
        ++tries_;
        retry_at_ = now + gap_;
        gap_ = std::min(gap_ * 2, limits_.done_retry_max);
    }
    next_at_ = retry_at_;
}

}  // namespace stage::core
