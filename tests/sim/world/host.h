// A simulated member's process around its core.
//
// It behaves as transport/run does: it reads what arrived, passes it to the core, performs
// operations, sends until the network refuses, and sleeps until the next event. It has faults:
// its clock is off, it wakes late, its disk is slow, it crashes. It checks at every turn what a
// core promised.
#pragma once

#include "tests/sim/world/clock.h"
#include "tests/sim/world/content.h"
#include "tests/sim/world/events.h"
#include "tests/sim/world/inbox.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/sealing.h"
#include "tests/sim/world/stalls.h"
#include "transport/run/any_core.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>

namespace stage::sim {

class Host {
  public:
    static constexpr Instant kNever{Duration::max()};

    using MakeCore = std::function<std::unique_ptr<AnyCore>()>;
    /// May put something around a member's core.
    using Dress =
        std::function<std::unique_ptr<AnyCore>(std::uint16_t rank, const MakeCore& make)>;

    struct Dependencies {
        Events& events;
        Network& network;
        Prng& prng;
        Content::Complain complain;
        Dress dress;
    };

    Host(const Plan& plan, std::uint16_t rank, const Dependencies& world);

    void start();
    void deliver(Instant at, const TrainUse& train, PacketMask mask);

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
    /// What these took on its link, in bytes, by type.
    [[nodiscard]] const std::array<std::uint64_t, 16>& heard_bytes() const {
        return heard_bytes_;
    }
    /// How often time alone woke its core.
    [[nodiscard]] std::uint64_t times_woken() const { return times_woken_; }
    [[nodiscard]] std::uint64_t data_sent() const { return data_sent_; }
    [[nodiscard]] std::optional<Instant> first_data_at() const { return first_data_at_; }
    [[nodiscard]] std::optional<Instant> last_data_at() const { return last_data_at_; }
    /// When it left the group for the first time.
    [[nodiscard]] std::optional<Instant> left_at() const { return left_at_; }
    [[nodiscard]] bool hears_group() const { return hears_group_; }
    [[nodiscard]] std::uint64_t unopened() const { return sealing_.refused(); }
    [[nodiscard]] std::uint64_t overflowed() const { return inbox_.overflowed(); }

  private:
    void crash(std::uint64_t);
    void abort(std::uint64_t);
    void all_listen(std::uint64_t);
    void wake_at(Instant when);
    void wake(std::uint64_t queued);
    void turn();
    void receive();
    [[nodiscard]] bool stream_waits() const;
    void take_packet(const Inbox::Arrival& arrival, std::uint32_t index);
    [[nodiscard]] Instant stamp(const Inbox::Arrival& arrival, std::uint32_t index);
    void operate();
    void follow_cut();
    void perform(const core::Operation& operation);
    void place(const core::Operation& operation);
    void submit(const core::Operation& operation);
    void complete(std::uint64_t);
    void send();
    void transmit(const core::Send& send);
    void cut(const core::Send& send, Train& train);
    void check();
    void sleep();
    void draw_lateness();
    [[nodiscard]] Duration wake_latency() const;

    const Plan& plan_;
    const MemberPlan& own_;
    std::uint16_t rank_;
    Events& events_;
    Clock clock_;
    Network& network_;
    Content::Complain complain_;
    Prng own_chance_;
    Content content_;
    Sealing sealing_;
    std::unique_ptr<AnyCore> core_;

    Stalls stalls_;
    Inbox inbox_;
    std::vector<Inbox::Arrival> taken_;  ///< In this turn: their bodies are being read.
    std::vector<core::Datagram> datagrams_;
    std::vector<std::uint64_t> leases_;  ///< Content by ticket - 1; 0: ended.
    std::vector<std::vector<std::byte>> bodies_;
    core::OperationBatch operations_;
    core::SendBatch sends_;
    std::vector<core::Completion> completions_;
    std::deque<core::Operation> disk_jobs_;
    Instant disk_busy_until_{};
    Instant cpu_busy_until_{};
    Instant wake_ = kNever;    ///< The next turn;
    Instant queued_ = kNever;  ///< an event that looks for it then, or sooner.
    Duration late_{};          ///< Of the next wake-up, by chance.
    bool is_blocked_ = false;
    bool is_dead_ = false;
    std::uint64_t last_number_ = 0;
    std::optional<Instant> held_at_;
    std::optional<Instant> over_at_;
    Instant turned_at_{};
    std::uint32_t turns_at_once_ = 0;
    std::array<std::uint64_t, 16> heard_{};
    std::array<std::uint64_t, 16> heard_bytes_{};
    std::uint64_t times_woken_ = 0;
    std::uint64_t data_sent_ = 0;
    std::optional<Instant> left_at_;
    bool hears_group_ = true;
    std::optional<Instant> first_data_at_;
    std::optional<Instant> last_data_at_;
};

}  // namespace stage::sim
