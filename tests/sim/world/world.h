// Runs a plan to its end and checks the invariants of the group.
//
// No wrong byte; a chunk stored once; done means done everywhere it is said; a group whose
// faults have healed finishes in time; a member that cannot finish is named; no member hangs;
// the source receives a bounded number of packets; no link carries more than its rate.
#pragma once

#include "tests/sim/host/host.h"
#include "tests/sim/network/cubic_flow.h"

#include <memory>
#include <string>
#include <vector>

namespace stage::sim {

/// Mixed with a plan's seed it gives the chance of its network and hosts.
inline constexpr std::uint64_t kWorldChance = 0x5eed;

class World {
  public:
    explicit World(Plan plan, Host::Dress dress = {});

    /// To the end, and all checks.
    void run();

    [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
    [[nodiscard]] const Host& host(std::uint16_t rank) const { return *hosts_[rank]; }
    [[nodiscard]] const Plan& plan() const { return plan_; }
    [[nodiscard]] const Network& network() const { return network_; }
    [[nodiscard]] const CubicFlow& flow(std::size_t index) const { return *flows_[index]; }
    /// When the last member came to hold the object, or this one did.
    [[nodiscard]] Duration held_after() const;
    [[nodiscard]] Duration held_after(std::uint16_t rank) const;
    /// When every member was ready: the first chunk left the source.
    [[nodiscard]] Duration ready_after() const;
    /// From then until the last member, or this one, held the object, as the time that the
    /// object's packets take on one link.
    [[nodiscard]] double times_wire() const;
    [[nodiscard]] double times_wire(std::uint16_t rank) const;
    [[nodiscard]] Duration ran() const { return events_.now().time_since_epoch(); }
    [[nodiscard]] bool all_released() const;
    /// How each member ended, on one line each.
    [[nodiscard]] std::string report() const;

  private:
    void complain(std::uint16_t rank, const std::string& what);
    void on_seen(std::uint16_t rank, Seen seen, std::uint64_t many);
    void strike(std::uint64_t index);
    void cut_off(const Strike& strike);
    [[nodiscard]] bool is_lossy() const;
    [[nodiscard]] Duration time_limit() const;
    [[nodiscard]] bool is_over() const;
    void check_end();
    void check_named(std::uint16_t rank);
    void check_agreed();
    [[nodiscard]] bool may_all_fail() const;
    [[nodiscard]] bool is_dropped(std::uint16_t rank) const;

    Plan plan_;
    Prng prng_;
    Events events_;
    std::vector<std::string> complaints_;
    Network network_;
    std::vector<std::unique_ptr<Host>> hosts_;
    std::vector<std::uint64_t> until_strike_;  ///< Events, by strike; 0: it has come.
    std::vector<std::unique_ptr<CubicFlow>> flows_;
};

}  // namespace stage::sim
