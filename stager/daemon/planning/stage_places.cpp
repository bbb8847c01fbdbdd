#include "stager/daemon/planning/stage_places.h"

#include <utility>
#include <vector>

namespace stage {

void StagePlaces::set_limits(const Limits& limits) {
    own_.resize(limits.stages);
    members_.resize(limits.stages * kMemberFactor);
    held_ports_.resize(limits.held_ports);
    open_ports_.resize(limits.open_ports);
}

/// Takes a place and a port, or neither; returns whence the port is.
FairPlaces* StagePlaces::take(FairPlaces& places, std::uint32_t uid) {
    if (!places.take(uid)) {
        return nullptr;
    }
    for (FairPlaces* const ports : {&held_ports_, &open_ports_}) {
        if (ports->take(uid)) {
            return ports;
        }
    }
    places.leave(uid);
    return nullptr;
}

std::optional<StagePlaces::Ticket> StagePlaces::wait(std::uint32_t uid, OnPlace on_place) {
    if (!queue_.take(uid)) {
        return std::nullopt;
    }
    const Ticket ticket = ++last_;
    entries_[ticket] = {
        .uid = uid, .kind = Kind::waiting, .ports = nullptr, .on_place = std::move(on_place)};
    serve();
    return ticket;
}

std::optional<StagePlaces::Ticket> StagePlaces::take_as_member(std::uint32_t uid) {
    FairPlaces* const ports = take(members_, uid);
    if (ports == nullptr) {
        return std::nullopt;
    }
    entries_[++last_] = {.uid = uid, .kind = Kind::member, .ports = ports, .on_place = {}};
    return last_;
}

void StagePlaces::leave(Ticket ticket) {
    const auto found = entries_.find(ticket);
    if (found == entries_.end()) {
        return;
    }
    const Entry entry = std::move(found->second);
    entries_.erase(found);
    FairPlaces& places = entry.kind == Kind::waiting ? queue_
                         : entry.kind == Kind::own   ? own_
                                                     : members_;
    places.leave(entry.uid);
    if (entry.ports != nullptr) {
        entry.ports->leave(entry.uid);
    }
    serve();
}

bool StagePlaces::has_held_port(Ticket ticket) const {
    const auto found = entries_.find(ticket);
    return found != entries_.end() && found->second.ports == &held_ports_;
}

/// The stage that came first has the next place, unless it is of a user who has a share
/// already.
void StagePlaces::serve() {
    std::vector<OnPlace> served;
    for (auto& [ticket, entry] : entries_) {
        if (entry.kind != Kind::waiting) {
            continue;
        }
        entry.ports = take(own_, entry.uid);
        if (entry.ports != nullptr) {
            queue_.leave(entry.uid);
            entry.kind = Kind::own;
            served.push_back(std::exchange(entry.on_place, nullptr));
        }
    }
    for (const OnPlace& call : served) {
        call();
    }
}

}  // namespace stage
