// A simulated member's process.
//
// The session, the outbox, the block buffers, the merge of flows and the seal are those of
// transport/run; driver, flows' sockets, disk and clock are simulated. A host takes the
// session's turns when a process would wake up. It has faults: its clock is off, it wakes late,
// its disk is slow, it crashes.
#pragma once

#include "tests/sim/host/clock.h"
#include "tests/sim/host/content.h"
#include "tests/sim/host/sim_disk.h"
#include "tests/sim/host/sim_driver.h"
#include "tests/sim/host/sim_flow.h"
#include "tests/sim/host/sim_spare.h"
#include "tests/sim/host/stalls.h"
#include "tests/sim/host/watched_core.h"
#include "transport/run/session.h"

#include <memory>
#include <optional>

namespace stage::sim {

class Host final : private Watcher {
  public:
    static constexpr Instant kNever{Duration::max()};

    using MakeCore = std::function<std::unique_ptr<core::Core>()>;
    /// May put something around a member's core.
    using Dress =
        std::function<std::unique_ptr<core::Core>(std::uint16_t rank, const MakeCore& make)>;

    struct Dependencies {
        Events& events;
        Network& network;
        Prng& prng;
        Content::Complain complain;
        Dress dress;
        /// A member did something, so often since the last call.
        std::function<void(Seen seen, std::uint64_t many)> see{};
    };

    Host(const Plan& plan, std::uint16_t rank, const Dependencies& world);

    void start();
    /// What its plan does to it at a time, now.
    void crash(std::uint64_t);
    void abort(std::uint64_t);
    void deliver(Instant at, const TrainUse& train, PacketMask mask);

    [[nodiscard]] const core::Outcome& outcome() const { return core_.outcome(); }
    [[nodiscard]] const Object& object() const { return object_; }
    [[nodiscard]] const Content& content() const { return content_; }
    [[nodiscard]] const SimDriver& driver() const { return driver_; }
    [[nodiscard]] const SimDisk& disk() const { return disk_; }
    [[nodiscard]] const WatchedCore& core() const { return core_; }
    [[nodiscard]] bool is_dead() const { return is_dead_; }
    /// Its part has ended, or it is dead.
    [[nodiscard]] bool is_over() const { return is_dead_ || session_.is_over(); }
    /// When it came to hold the object, in the world's time.
    [[nodiscard]] std::optional<Instant> held_at() const { return held_at_; }
    [[nodiscard]] std::optional<Instant> over_at() const { return over_at_; }
    [[nodiscard]] std::uint64_t unopened() const { return seal_.counters().refused(); }
    /// Packets by flow; empty with one flow.
    [[nodiscard]] std::vector<std::uint64_t> received_by_flow() const {
        return flows_ ? flows_->received() : std::vector<std::uint64_t>{};
    }
    /// How often a thread of a flow had no free buffers.
    [[nodiscard]] std::uint64_t flows_full() const;

    // Of its parts, as tests ask for them.
    [[nodiscard]] const std::array<std::uint64_t, 16>& heard() const { return core_.heard(); }
    [[nodiscard]] const std::array<std::uint64_t, 16>& heard_bytes() const {
        return core_.heard_bytes();
    }
    [[nodiscard]] std::uint64_t times_woken() const { return core_.times_woken(); }
    [[nodiscard]] std::uint64_t data_sent() const { return driver_.data_sent(); }
    [[nodiscard]] std::optional<Instant> first_data_at() const {
        return driver_.first_data_at();
    }
    [[nodiscard]] std::optional<Instant> last_data_at() const { return driver_.last_data_at(); }
    [[nodiscard]] std::uint64_t overflowed() const;

  private:
    void on_progress(const core::Outcome&) override {}
    Status on_readable() override;
    [[nodiscard]] bool do_all_listen() const override { return true; }

    [[nodiscard]] std::unique_ptr<Flows> make_flows();
    void all_listen(std::uint64_t);
    void wake_at(Instant when);
    void wake(std::uint64_t queued);
    void turn();
    void check();
    void tell_seen();
    void sleep();
    void end();
    void draw_lateness();
    [[nodiscard]] Duration wake_latency() const;
    [[nodiscard]] bool stream_rests() const { return waits_.stream != StreamWait::wakes; }
    [[nodiscard]] bool stream_stays() const { return waits_.stream == StreamWait::stays; }

    const Plan& plan_;
    const MemberPlan& own_;
    Events& events_;
    Clock clock_;
    Content::Complain complain_;
    std::function<void(Seen seen, std::uint64_t many)> see_;
    std::array<std::uint64_t, 7> seen_{};
    Prng own_chance_;
    Object object_;
    Content content_;
    SimDriver driver_;
    WatchedCore core_;
    seal::SessionSeal seal_;
    SimSpare spare_;
    BlockStore blocks_;
    Outbox outbox_;
    SimDisk disk_;
    std::vector<SimFlow*> feeds_;  ///< By flow; those of flows_.
    std::unique_ptr<Flows> flows_;
    Session session_;

    Stalls stalls_;
    Waits waits_;
    Instant cpu_busy_until_{};
    Instant wake_ = kNever;    ///< The next turn;
    Instant queued_ = kNever;  ///< an event that looks for it then, or sooner.
    Duration late_{};          ///< The delay of the next wake-up, by chance.
    bool is_dead_ = false;
    bool is_aborted_ = false;
    std::optional<Instant> held_at_;
    std::optional<Instant> over_at_;
    Instant turned_at_{};
    std::uint32_t turns_at_once_ = 0;
};

}  // namespace stage::sim
