#include "transport/hop/hop_dial.h"

#include <array>

namespace stage::hop {
namespace {

constexpr Duration kHelloMax = std::chrono::milliseconds{250};
/// After TCP stands, and two RTTs: the hosts may be busy.
constexpr Duration kWait = std::chrono::milliseconds{50};
constexpr int kWaitedRoundTrips = 2;
/// After TCP was refused, maybe by this host's own firewall: UDP's answer may need an RTT yet.
constexpr Duration kWaitAlone = std::chrono::seconds{1};
constexpr std::array kSizes{kLongDatagram, kShortDatagram};

}  // namespace

std::span<const std::size_t> HopDial::take_hellos(Instant now) {
    if (now < hello_at_) {
        return {};
    }
    const bool is_first = hello_at_ == begun_at_;
    hello_at_ = now + hello_after_;
    hello_after_ = std::min(2 * hello_after_, kHelloMax);
    return std::span{kSizes}.first(is_first ? 1 : kSizes.size());
}

void HopDial::on_tcp(Instant now, const LinkEvent& event) {
    has_tcp_failed_ = event.kind != LinkEvent::Kind::ready;
    decided_at_ =
        now + (has_tcp_failed_ ? kWaitAlone : kWait + kWaitedRoundTrips * event.round_trip);
}

HopDial::Way HopDial::way(Instant now) const {
    if (decided_at_ && now >= *decided_at_) {
        return has_tcp_failed_ ? Way::none : Way::tcp;
    }
    return now >= begun_at_ + kLongest ? Way::none : Way::open;
}

Instant HopDial::deadline() const {
    const Instant first = std::min(hello_at_, begun_at_ + kLongest);
    return std::min(first, decided_at_.value_or(first));
}

}  // namespace stage::hop
