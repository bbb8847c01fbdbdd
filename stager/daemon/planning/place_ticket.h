// Holds one stage's place among those that its node runs at once, or its turn in the queue.
//
// The limit is read anew before each use: a reload of the configuration may change it. The
// place is given back at the latest when this is destroyed.
#pragma once

#include "stager/config/config.h"
#include "stager/daemon/planning/stage_places.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace stage {

class DataPorts;
class Loop;

class PlaceTicket {
  public:
    using OnPlace = std::function<void()>;

    /// The references outlive it.
    PlaceTicket(Loop& loop, const Config& config, const DataPorts& ports, StagePlaces& places)
        : loop_{loop}, config_{config}, ports_{ports}, places_{places} {}
    PlaceTicket(const PlaceTicket&) = delete;
    PlaceTicket& operator=(const PlaceTicket&) = delete;
    ~PlaceTicket() { give_back(); }

    /// Waits for the place of a stage that begins here. `on_place` is called once, later,
    /// unless the place is given back before. False: too many stages of this user wait.
    [[nodiscard]] bool wait(std::uint32_t uid, OnPlace on_place);
    /// Takes the place of a stage that began on another node. A ticket that has or awaits a
    /// place keeps that. False: there is no place.
    [[nodiscard]] bool take_as_member(std::uint32_t uid);
    void give_back();

    [[nodiscard]] bool is_waiting() const { return ticket_ && !has_place_; }
    /// The place came with a port that the daemon holds.
    [[nodiscard]] bool has_held_port() const {
        return ticket_ && places_.has_held_port(*ticket_);
    }

  private:
    void set_limits();

    Loop& loop_;
    const Config& config_;
    const DataPorts& ports_;
    StagePlaces& places_;
    std::optional<StagePlaces::Ticket> ticket_;
    bool has_place_ = false;  ///< False: `ticket_` waits for it.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Why a stage that waited found no place. `within`: the time that it had, in words.
[[nodiscard]] std::string no_place_became_free(const Config& config,
                                               const StagePlaces& places,
                                               const std::string& within);
/// Why a stage that began on another node found no place.
[[nodiscard]] std::string no_place_for_member(const Config& config, const StagePlaces& places);

}  // namespace stage
