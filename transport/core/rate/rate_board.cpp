#include "transport/core/rate/rate_board.h"

#include "transport/core/feedback/representatives.h"

#include <algorithm>
#include <cmath>

namespace stage::core {
namespace {

/// Clocks drift apart: the least delay seen is believed a little less every second.
constexpr std::int64_t kDriftPpm = 20;
/// Noise of the kernel's stamps: a span of arrivals is not shorter.
constexpr Duration kStampNoise = std::chrono::microseconds{20};

double seconds_of(Duration time) {
    return static_cast<double>(time.count()) / 1e9;
}

/// The value that more than 60 % of all reach, if `most`; that they don't exceed, if not.
double sixty_percent(std::vector<double> values, bool most) {
    std::ranges::sort(values);
    const std::size_t many = values.size() * 6 / 10 + 1;
    const std::size_t place = most ? values.size() - many : many - 1;
    return values[std::min(place, values.size() - 1)];
}

double middle(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Mean from the first to the fourth tenth from below: receivers with more random loss than
/// others and a minority with much loss do not count, nor does the one with the least.
double low_band(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t from = values.size() / 10;
    const std::size_t below = std::max((values.size() * 4 + 9) / 10, from + 1);
    double sum = 0;
    for (std::size_t i = from; i < below; ++i) {
        sum += values[i];
    }
    return sum / static_cast<double>(below - from);
}

}  // namespace

RateBoard::RateBoard(const CoreConfig& config, const Limits& limits)
    : limits_{limits.feedback}, packet_bytes_{config.chunk_bytes + kWireOverheadBytes} {
    const bool are_all = are_all_representatives(config, limits.feedback);
    for (std::uint32_t i = 0; are_all && i < config.members; ++i) {
        if (const Rank rank{static_cast<std::uint16_t>(i)}; rank != config.source) {
            views_.emplace_back().rank = rank;
        }
    }
}

void RateBoard::represent(const std::vector<Rank>& ranks) {
    std::vector<View> views;
    for (const Rank rank : ranks) {
        const auto known = std::ranges::find(views_, rank, &View::rank);
        if (known != views_.end()) {
            views.push_back(*known);
        } else {
            views.emplace_back().rank = rank;
        }
    }
    views_ = std::move(views);
}

void RateBoard::on_report(Instant now,
                          Rank from,
                          const wire::Report& report,
                          const SendLog& log) {
    const auto view = std::ranges::lower_bound(views_, from, {}, &View::rank);
    if (view == views_.end() || view->rank != from || report.mark < report.span) {
        return;
    }
    view->heard_at = now;
    view->mark = std::max(view->mark, report.mark);
    view->fill = report.fill / 255.0;
    view->drain = static_cast<double>(report.drain) * packet_bytes_;
    view->has_overflowed = view->has_overflowed || report.overflow > 0;
    const auto left = log.departure(report.mark);
    const std::uint64_t first = report.mark - report.span;
    const auto span = log.span(first, report.mark);
    if (!left || !span || span->packets == 0 || report.received > span->packets) {
        return;  // too old; or reordered beyond the mark
    }
    const Duration trip = now - left->sent - std::chrono::microseconds{report.hold_us};
    if (trip > Duration::zero()) {
        view->round_trip = std::min(view->round_trip.value_or(trip), trip);
    }
    view->loss_packets += span->packets;
    view->loss_received += report.received;
    const bool is_new = first >= first_;
    const Duration queue_before = view->queue;
    measure_delay(*view, *left, report);
    if (is_new) {
        view->queue = view->packets > 0 ? std::min(queue_before, view->queue) : view->queue;
        add(*view, *span, report);
    }
}

/// Delay by two clocks; only its growth over the least one means something. The least is
/// counted from when a burst really left: a shaper may let it through at once, and what then
/// came sooner than at the path's pace must not be the measure of what comes later.
void RateBoard::measure_delay(View& view,
                              const SendLog::Departure& departure,
                              const wire::Report& report) {
    const Instant arrived{Duration{static_cast<Duration::rep>(report.mark_at_ns)}};
    const Duration delay = arrived - departure.sent;
    if (view.least_delay) {
        const Duration drift = (departure.sent - view.least_at) / 1'000'000 * kDriftPpm;
        *view.least_delay += std::max(drift, Duration::zero());
    }
    view.least_at = std::max(view.least_at, departure.sent);
    view.least_delay = std::min(view.least_delay.value_or(delay), delay);
    view.queue = std::max(arrived - departure.left - *view.least_delay, Duration::zero());
}

void RateBoard::add(View& view, const SendLog::Span& span, const wire::Report& report) {
    view.packets += span.packets;
    view.received += report.received;
    view.bytes += span.bytes;
    view.sent_in += span.time;
    view.arrived_in += Duration{report.span_ns};
}

void RateBoard::forget_delays() {
    for (View& view : views_) {
        view.least_delay.reset();
    }
}

void RateBoard::begin(Instant now, std::uint64_t next) {
    first_ = next;
    begun_at_ = now;
    first_begun_at_ = first_begun_at_.value_or(now);
    for (View& view : views_) {
        view.packets = 0;
        view.received = 0;
        view.bytes = 0;
        view.sent_in = Duration::zero();
        view.arrived_in = Duration::zero();
        view.has_overflowed = false;
    }
}

std::optional<RateSample> RateBoard::sample(Instant now, double packets_min) const {
    std::vector<const View*> views;
    std::size_t alive = 0;
    for (const View& view : views_) {
        if (view.is_away) {
            continue;
        }
        alive += is_heard(view, now) ? 1U : 0U;
        if (static_cast<double>(view.packets) >= packets_min &&
            view.arrived_in > Duration::zero()) {
            views.push_back(&view);
        }
    }
    // Three quarters of those that report at all; after a while half is enough.
    const bool is_late = now - begun_at_ > limits_.interval * 5 / 2;
    const std::size_t wanted = is_late ? (alive + 1) / 2 : (alive * 3 + 3) / 4;
    if (views.empty() || views.size() < wanted) {
        return std::nullopt;
    }
    return combine(views);
}

RateSample RateBoard::combine(const std::vector<const View*>& views) {
    std::vector<double> loss;
    std::vector<double> queue;
    std::vector<double> delivered;
    std::vector<double> passed;
    std::vector<double> sent;
    std::vector<double> packets;
    std::vector<double> trip;
    std::vector<double> fill;
    std::vector<double> drain;
    RateSample sample;
    for (const View* view : views) {
        const auto count = static_cast<double>(view->packets);
        const double share = static_cast<double>(view->received) / count;
        const auto bytes = static_cast<double>(view->bytes);
        loss.push_back(1 - share);
        queue.push_back(seconds_of(view->queue));
        const double time = std::max(seconds_of(view->arrived_in), seconds_of(kStampNoise));
        delivered.push_back(bytes * share / time);
        passed.push_back(bytes / time);
        sent.push_back(bytes / std::max(seconds_of(view->sent_in), 1e-6));
        packets.push_back(count);
        trip.push_back(seconds_of(view->round_trip.value_or(Duration::zero())));
        fill.push_back(view->fill);
        drain.push_back(view->drain);
        sample.overflowed += view->has_overflowed ? 1.0 / static_cast<double>(views.size()) : 0;
    }
    sample.loss = low_band(std::move(loss));
    sample.queue = sixty_percent(std::move(queue), true);
    sample.delivered = sixty_percent(std::move(delivered), false);
    sample.passed = sixty_percent(std::move(passed), false);
    sample.sent = middle(std::move(sent));
    sample.packets = middle(std::move(packets));
    sample.round_trip = sixty_percent(std::move(trip), false);
    sample.fill = middle(std::move(fill));
    sample.drain = middle(std::move(drain));
    return sample;
}

void RateBoard::set_away(Rank rank, bool is_away) {
    const auto view = std::ranges::lower_bound(views_, rank, {}, &View::rank);
    if (view != views_.end() && view->rank == rank) {
        *view = {};  // its earlier reports belong to another stream
        view->rank = rank;
        view->is_away = is_away;
    }
}

bool RateBoard::is_heard(const View& view, Instant now) const {
    return !view.is_away && view.heard_at && now - *view.heard_at < limits_.silence;
}

/// True, too, of one that may report yet: there has been nothing to report for long.
bool RateBoard::is_present(const View& view, Instant now) const {
    return is_heard(view, now) ||
           (!view.is_away && now - first_begun_at_.value_or(now) < limits_.silence);
}

std::uint64_t RateBoard::reported(Instant now) const {
    std::vector<std::uint64_t> marks;
    for (const View& view : views_) {
        if (is_present(view, now)) {
            marks.push_back(view.mark);
        }
    }
    if (marks.empty()) {
        return 0;
    }
    const auto place = marks.begin() + static_cast<std::ptrdiff_t>(marks.size() / 2);
    std::nth_element(marks.begin(), place, marks.end());
    return *place;
}

double RateBoard::round_trip() const {
    std::optional<Duration> least;
    for (const View& view : views_) {
        if (view.round_trip) {
            least = std::min(least.value_or(*view.round_trip), *view.round_trip);
        }
    }
    return seconds_of(least.value_or(Duration::zero()));
}

std::optional<std::uint32_t> RateBoard::take_loss_ppm(Instant now, std::uint32_t packets_min) {
    std::vector<double> losses;
    std::size_t present = 0;
    for (const View& view : views_) {
        present += is_present(view, now) ? 1U : 0U;
        if (view.loss_packets >= packets_min) {
            losses.push_back(1 - static_cast<double>(view.loss_received) /
                                     static_cast<double>(view.loss_packets));
        }
    }
    if (losses.empty() || losses.size() < (present + 1) / 2) {
        return std::nullopt;
    }
    for (View& view : views_) {
        view.loss_packets = 0;
        view.loss_received = 0;
    }
    return static_cast<std::uint32_t>(std::lround(middle(std::move(losses)) * 1e6));
}

}  // namespace stage::core
