// How does a member's process behave around its core?
//
// As transport/run does: it takes what arrived, hands it to the core, performs operations,
// sends until the network pushes back, and sleeps until something happens. A false one: its
// clock is off, it wakes late, its disk is slow, it dies. And it checks at every turn what a
// core promised.
#pragma once

#include "tests/sim/content.h"
#include "tests/sim/events.h"
#include "tests/sim/network.h"
#include "tests/sim/sealing.h"
#include "transport/run/any_core.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>

namespace stage::sim {

class Host {
  public:
    Host(const Plan& plan,
         std::uint16_t rank,
         Events& events,
         Network& network,
         Prng& world,
         Content::Complain complain);

    void start();
    void deliver(Instant at, const Packet& packet);
    void crash();
    void abort();

    [[nodiscard]] const core::Outcome& outcome() const { return core_->outcome(); }
    [[nodiscard]] const Content& content() const { return content_; }
    [[nodiscard]] bool is_dead() const { return is_dead_; }
    /// Its part has ended, or it is dead.
    [[nodiscard]] bool is_over() const;
    /// When it came to hold the object, in the world's time.
    [[nodiscard]] std::optional<Instant> held_at() const { return held_at_; }
    [[nodiscard]] std::optional<Instant> over_at() const { return over_at_; }
    /// Control packets that reached its core, by type.
    [[nodiscard]] const std::array<std::uint64_t, 16>& heard() const { return heard_; }
    [[nodiscard]] std::uint64_t data_sent() const { return data_sent_; }
    [[nodiscard]] std::uint64_t unopened() const { return sealing_.refused(); }
    [[nodiscard]] std::uint64_t overflowed() const { return overflowed_; }

  private:
    struct Arrival {
        Instant at;
        Packet packet;
    };

    [[nodiscard]] Instant local() const { return events_.now() + own_.clock_offset; }
    void wake_at(Instant when);
    void turn();
    void receive();
    void operate();
    void perform(const core::Operation& operation);
    void place(const core::Operation& operation);
    void submit(const core::Operation& operation);
    void send();
    void transmit(const core::Send& send);
    void check();
    void sleep();

    const Plan& plan_;
    const MemberPlan& own_;
    std::uint16_t rank_;
    Events& events_;
    Network& network_;
    Content::Complain complain_;
    Prng own_chance_;
    Object object_;
    Content content_;
    Sealing sealing_;
    std::unique_ptr<AnyCore> core_;

    std::deque<Arrival> inbox_;
    std::uint64_t inbox_bytes_ = 0;
    std::uint64_t overflowed_ = 0;
    std::vector<core::Datagram> datagrams_;
    std::vector<std::uint64_t> leases_;  ///< Content by ticket - 1; 0: ended.
    std::vector<std::vector<std::byte>> bodies_;
    std::vector<core::Completion> completions_;
    std::uint64_t disk_jobs_ = 0;
    Instant disk_busy_until_{};
    Instant cpu_busy_until_{};
    std::optional<Instant> wake_;
    bool is_blocked_ = false;
    bool is_dead_ = false;
    std::uint64_t last_number_ = 0;
    std::optional<Instant> held_at_;
    std::optional<Instant> over_at_;
    Instant turned_at_{};
    std::uint32_t turns_at_once_ = 0;
    std::array<std::uint64_t, 16> heard_{};
    std::uint64_t data_sent_ = 0;
};

}  // namespace stage::sim
