// A simulated member's disk: operations wait for each other, and take their time.
#pragma once

#include "tests/sim/host/content.h"
#include "tests/sim/network/events.h"
#include "transport/run/object/disk.h"
#include "transport/run/object/disk_work.h"

#include <deque>
#include <functional>

namespace stage::sim {

class SimDisk final : public Disk {
  public:
    /// `wake`: called whenever there is something to take.
    SimDisk(const Plan& plan,
            std::uint16_t rank,
            Content& content,
            Events& events,
            Prng& prng,
            std::function<void()> wake);

    std::optional<core::Completion> submit(const core::Operation& operation,
                                           MutableBytes buffer) override;
    [[nodiscard]] std::vector<core::Completion> take() override;
    [[nodiscard]] int event_fd() const override { return -1; }
    [[nodiscard]] bool has_done() const { return !done_.empty(); }
    /// The member has ended, and its buffers with it.
    void stop() { is_stopped_ = true; }

  private:
    [[nodiscard]] Duration time_of(const core::Operation& operation);
    void complete(std::uint64_t);
    [[nodiscard]] bool is_full() const;

    const Plan& plan_;
    const MemberPlan& own_;
    Content& content_;
    Events& events_;
    Prng& prng_;
    std::function<void()> wake_;
    DiskWork work_;
    std::deque<DiskJob> jobs_;
    std::vector<core::Completion> done_;
    Instant busy_until_{};
    bool is_stopped_ = false;
};

}  // namespace stage::sim
