#include "stager/daemon/planning/place_ticket.h"

#include "stager/daemon/base/loop.h"
#include "stager/daemon/run/data_ports.h"

#include <algorithm>
#include <utility>

namespace stage {

void PlaceTicket::set_limits() {
    const auto& range = config_.data_port_range;
    const std::size_t all = std::size_t{1} + range.last - range.first;
    places_.set_limits({.stages = config_.max_stages_per_node,
                        .held_ports = ports_.held(),
                        .open_ports = all - std::min(all, ports_.held())});
}

bool PlaceTicket::wait(std::uint32_t uid, OnPlace on_place) {
    const std::weak_ptr<bool> alive{alive_};
    const auto on_turn = [this, alive, call = std::move(on_place)] {
        loop_.defer([this, alive, call] {
            if (!alive.expired() && is_waiting()) {
                has_place_ = true;
                call();
            }
        });
    };
    set_limits();
    ticket_ = places_.wait(uid, on_turn);
    return ticket_.has_value();
}

bool PlaceTicket::take_as_member(std::uint32_t uid) {
    if (!ticket_) {
        set_limits();
        ticket_ = places_.take_as_member(uid);
        has_place_ = ticket_.has_value();
    }
    return has_place_;
}

void PlaceTicket::give_back() {
    has_place_ = false;
    if (ticket_) {
        set_limits();
        places_.leave(*std::exchange(ticket_, std::nullopt));
    }
}

std::string no_place_became_free(const Config& config,
                                 const StagePlaces& places,
                                 const std::string& within) {
    return "it is already staging files for " + std::to_string(places.taken()) +
           " other jobs or steps (MaxStagesPerNode=" +
           std::to_string(config.max_stages_per_node) +
           "; of these places, and of the ports of DataPortRange, one user has half at most), "
           "and none became free within " +
           within + "; submit it again";
}

std::string no_place_for_member(const Config& config, const StagePlaces& places) {
    return "it is already staging files for " + std::to_string(places.taken_by_members()) +
           " other jobs or steps that began on other nodes (at most " +
           std::to_string(StagePlaces::kMemberFactor) +
           " times MaxStagesPerNode=" + std::to_string(config.max_stages_per_node) +
           "; of these places, and of the ports of DataPortRange, one user has half at most); "
           "submit it again";
}

}  // namespace stage
