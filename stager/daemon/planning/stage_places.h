// Bounds how many stages a node runs at once, and shares the places among users.
//
// There are two kinds of places. A stage takes its own at its first node, before any other node
// hears of it; where none is free it waits, in the order of arrival, and holds nothing
// meanwhile that another stage waits for. So stages can't wait for each other in a circle, in
// whatever order they name their nodes (docs/decisions/0037). As a member of a stage that began
// elsewhere a node does not wait: members have kMemberFactor times as many places, and beyond
// them a stage fails. Of both kinds one user has as many as are left for others
// (cache/fair_places.h).
//
// With a place of either kind comes a port of the node (run/data_ports.h), for as long as the
// stage has the place. Of the ports that the daemon holds one user has as many as are left for
// others, whatever else is the user's; of the ports that are open to all again as many, but
// there another program can be in the way.
#pragma once

#include "stager/cache/fair_places.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>

namespace stage {

class StagePlaces {
  public:
    StagePlaces() = default;
    StagePlaces(const StagePlaces&) = delete;
    StagePlaces& operator=(const StagePlaces&) = delete;
    ~StagePlaces() = default;

    using Ticket = std::uint64_t;
    using OnPlace = std::function<void()>;

    static constexpr std::size_t kMemberFactor = 8;
    /// Stages that may wait; more are refused.
    static constexpr std::size_t kMaxWaiting = 2048;

    struct Limits {
        std::size_t stages = 1;  ///< Stages that begin here: MaxStagesPerNode.
        std::size_t held_ports = std::numeric_limits<std::size_t>::max();
        std::size_t open_ports = 0;
    };
    /// To be called before each of the others: a reload of the configuration may change them.
    void set_limits(const Limits& limits);

    /// `on_place` is called once there is a place, from here or from another's leave(). It may
    /// call anything but must not destroy this. Nothing: too many of this user's wait already.
    [[nodiscard]] std::optional<Ticket> wait(std::uint32_t uid, OnPlace on_place);
    /// A place as a member, or as a stage that does not wait (a push).
    [[nodiscard]] std::optional<Ticket> take_as_member(std::uint32_t uid);
    /// Gives back the place, or stops waiting for it. Unknown tickets are ignored.
    void leave(Ticket ticket);
    /// The ticket's place came with a port that the daemon holds.
    [[nodiscard]] bool has_held_port(Ticket ticket) const;

    /// The number of places that stages which began here have.
    [[nodiscard]] std::size_t taken() const { return own_.taken(); }
    [[nodiscard]] std::size_t taken_by_members() const { return members_.taken(); }
    [[nodiscard]] std::size_t waiting() const { return queue_.taken(); }

  private:
    enum class Kind : unsigned char { waiting, own, member };
    struct Entry {
        std::uint32_t uid = 0;
        Kind kind = Kind::waiting;
        FairPlaces* ports = nullptr;  ///< Has this place's port; null while the stage waits.
        OnPlace on_place;
    };
    [[nodiscard]] FairPlaces* take(FairPlaces& places, std::uint32_t uid);
    void serve();

    FairPlaces own_{1};
    FairPlaces members_{kMemberFactor};
    FairPlaces held_ports_{std::numeric_limits<std::size_t>::max()};
    FairPlaces open_ports_{0};
    FairPlaces queue_{kMaxWaiting};
    Ticket last_ = 0;
    std::map<Ticket, Entry> entries_;  ///< In the order of arrival.
};

}  // namespace stage
