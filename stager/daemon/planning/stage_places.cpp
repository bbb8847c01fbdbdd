#include "stager/daemon/planning/stage_places.h"

#include <utility>
#include <vector>

namespace stage {

void StagePlaces::set_limit(std::size_t limit) {
    own_.resize(limit);
    members_.resize(limit * kMemberFactor);
}

std::optional<StagePlaces::Ticket> StagePlaces::wait(std::uint32_t uid, OnPlace on_place) {
    if (!queue_.take(uid)) {
        return std::nullopt;
    }
    const Ticket ticket = ++last_;
    entries_[ticket] = {.uid = uid, .kind = Kind::waiting, .on_place = std::move(on_place)};
    serve();
    return ticket;
}

std::optional<StagePlaces::Ticket> StagePlaces::take_as_member(std::uint32_t uid) {
    if (!members_.take(uid)) {
        return std::nullopt;
    }
    entries_[++last_] = {.uid = uid, .kind = Kind::member, .on_place = {}};
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
    serve();
}

/// The stage that came first has the next place, unless it is of a user who has a share
/// already.
void StagePlaces::serve() {
    std::vector<OnPlace> served;
    for (auto& [ticket, entry] : entries_) {
        if (entry.kind == Kind::waiting && own_.take(entry.uid)) {
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
