// Brings one of the group's flows to a simulated member.
//
// Its socket, and what a thread of its own would do with it: wake up, some time after a packet
// arrived, open what has arrived, and hand it over. The merge is the real one.
#pragma once

#include "tests/sim/host/inbox.h"
#include "tests/sim/host/sim_driver.h"
#include "transport/run/flow_feed.h"

#include <array>
#include <deque>
#include <functional>

namespace stage::sim {

class SimFlow final : public FlowFeed {
  public:
    struct Dependencies {
        SimDriver& driver;
        Events& events;
        Prng& prng;
        /// Called whenever the event was written to.
        std::function<void()> wake{};
    };

    /// All must outlive this.
    SimFlow(const Plan& plan,
            std::uint16_t rank,
            const Dependencies& world,
            seal::FlowSeal seal);

    /// Packets of the flow reach the host.
    void put(Instant at, const TrainUse& train, PacketMask mask);

    void start(const std::atomic<std::uint64_t>& heard, int event) override;
    [[nodiscard]] Result<std::optional<FlowBatch>> next() override;
    [[nodiscard]] bool has_more() override;
    void give_back(FlowBatch batch) override;
    void stop() override;
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] const seal::SealCounters& refused() const override {
        return seal_.counters();
    }
    /// How often no set of buffers was free.
    [[nodiscard]] std::uint64_t times_full() const { return times_full_; }

  private:
    static constexpr Instant kNever{Duration::max()};

    void wake_at(Instant when);
    void wake(std::uint64_t queued);
    [[nodiscard]] bool read(FlowBatch& batch);
    void hand_over(std::uint64_t);
    [[nodiscard]] Duration lateness();

    const Plan& plan_;
    const MemberPlan& own_;
    Dependencies world_;
    seal::FlowSeal seal_;
    Inbox inbox_;
    const std::atomic<std::uint64_t>* heard_ = nullptr;
    int event_ = -1;
    DriverCounters counters_;

    Instant queued_ = kNever;              ///< When the thread wakes up.
    std::optional<FlowBatch> reading_;     ///< In the thread's hands,
    std::uint64_t heard_before_ = 0;       ///< which began when this was heard.
    std::vector<ReceivedPacket> packets_;  ///< The packets of that batch.
    std::array<std::vector<std::byte>, kFlowSets> buffers_;
    std::vector<FlowBatch> free_;
    std::deque<FlowBatch> ready_;
    std::uint64_t times_full_ = 0;
    bool is_stopped_ = false;
};

}  // namespace stage::sim
