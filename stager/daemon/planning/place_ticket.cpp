#include "stager/daemon/planning/place_ticket.h"

#include "stager/daemon/base/loop.h"

#include <utility>

namespace stage {

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
    places_.set_limit(config_.max_stages_per_node);
    ticket_ = places_.wait(uid, on_turn);
    return ticket_.has_value();
}

bool PlaceTicket::take_as_member(std::uint32_t uid) {
    if (!ticket_) {
        places_.set_limit(config_.max_stages_per_node);
        ticket_ = places_.take_as_member(uid);
        has_place_ = ticket_.has_value();
    }
    return has_place_;
}

void PlaceTicket::give_back() {
    has_place_ = false;
    if (ticket_) {
        places_.set_limit(config_.max_stages_per_node);
        places_.leave(*std::exchange(ticket_, std::nullopt));
    }
}

std::string no_place_became_free(const Config& config,
                                 const StagePlaces& places,
                                 const std::string& within) {
    return "it is already staging files for " + std::to_string(places.taken()) +
           " other jobs or steps (MaxStagesPerNode=" +
           std::to_string(config.max_stages_per_node) +
           ", of which one user has half at most), and no place became free within " + within +
           "; submit it again";
}

std::string no_place_for_member(const Config& config, const StagePlaces& places) {
    return "it is already staging files for " + std::to_string(places.taken_by_members()) +
           " other jobs or steps that began on other nodes (" +
           std::to_string(StagePlaces::kMemberFactor) +
           " times MaxStagesPerNode=" + std::to_string(config.max_stages_per_node) +
           ", of which one user has half at most); submit it again";
}

}  // namespace stage
