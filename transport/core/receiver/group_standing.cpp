#include "transport/core/receiver/group_standing.h"

#include "transport/core/base/repeater.h"

namespace stage::core {

GroupStanding::GroupStanding(const CoreConfig& config, const Limits& limits, Prng& prng)
    : source_{config.source},
      fetch_bytes_per_s_{config.rate_bytes_per_s > 0 ? config.rate_bytes_per_s
                                                     : limits.rate.most_bytes_per_s},
      notice_{config, limits, prng},
      reach_{config, limits.ending} {
}

void GroupStanding::on_packet(Instant now, const Datagram& datagram) {
    const bool is_sources = datagram.header.rank == source_;
    if (is_sources && !datagram.to_group) {
        reach_.on_alone(now);
    } else if (is_sources && reach_.on_group(now)) {
        notice_.stop_asking();
    }
}

bool GroupStanding::watch(Instant now) {
    const GroupReach::Step step = reach_.look(now);
    if (step == GroupReach::Step::ask) {
        notice_.ask(now);
    }
    const bool is_back = reach_.take_return();
    if (step != GroupReach::Step::unreachable && !is_back) {
        return false;
    }
    notice_.set_unreachable(now, !is_back);
    return true;
}

std::optional<Instant> GroupStanding::deadline() const {
    return earlier(notice_.deadline(), reach_.deadline());
}

void GroupStanding::go_on_as(Instant now, const GroupStanding& other) {
    reach_ = other.reach_;
    notice_.go_on_as(now, other.notice_);
}

}  // namespace stage::core
