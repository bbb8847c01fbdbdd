// A simulated member's disk: the operations of the real queue, by a simulated thread.
//
// The thread takes an operation, which the disk performs at the beginning or at the end of the
// time that it takes, and completes it. In some worlds the thread is late at any of its steps,
// so that the session's turns come between any two of them. There a buffer that the disk has is
// looked at, too: the session may not touch it, from submit() until the completion is taken.
#pragma once

#include "tests/sim/host/content.h"
#include "tests/sim/network/events.h"
#include "transport/run/object/disk.h"
#include "transport/run/object/disk_jobs.h"

#include <functional>
#include <optional>
#include <vector>

namespace stage::sim {

class SimDisk final : public Disk {
  public:
    struct Dependencies {
        Content& content;
        Events& events;
        Prng& prng;
        std::function<void()> wake;  ///< There is something to take, and was nothing before.
        Content::Complain complain;
    };
    SimDisk(const Plan& plan, std::uint16_t rank, Dependencies world);

    std::optional<core::Completion> submit(const core::Operation& operation,
                                           MutableBytes buffer) override;
    [[nodiscard]] std::vector<core::Completion> take() override;
    [[nodiscard]] bool is_waiting() override { return jobs_.is_waiting(); }
    [[nodiscard]] int event_fd() const override { return -1; }
    /// The member has ended. Like the real thread this one completes what it is doing, unless
    /// it died.
    void stop(bool is_dead);

    struct Did {
        std::uint64_t deferred = 0;  ///< Stores whose place was not known.
        /// Deferred stores whose completion was not found with others'.
        std::uint64_t apart = 0;
        std::uint64_t together = 0;  ///< Times that several completions were taken.
        std::uint64_t waited = 0;    ///< Attempts at a block that was still to come.
        std::uint64_t left = 0;      ///< Operations not taken when the member ended.
    };
    [[nodiscard]] const Did& did() const { return did_; }

  private:
    /// What was submitted and whose completion was not taken yet.
    struct Order {
        core::Ticket ticket;
        Duration takes{};
        Bytes buffer;
        Digest128 seen{};  ///< In the buffer, when the disk or the session left it.
        bool has_begun = false;
        bool was_deferred = false;
    };

    [[nodiscard]] Duration time_of(const core::Operation& operation);
    [[nodiscard]] Duration lateness();
    [[nodiscard]] bool is_watched() const { return plan_.disk_step_late_max > Duration{}; }
    [[nodiscard]] Order& order_of(core::Ticket ticket);
    void look(Order& order, bool may_differ);
    void go_on();
    void begin(std::uint64_t = 0);
    void perform();
    void end(std::uint64_t = 0);
    void try_waiting(std::uint64_t = 0);
    [[nodiscard]] bool is_still_to_come(const core::Operation& operation) const;
    [[nodiscard]] bool is_full() const;

    const Plan& plan_;
    const MemberPlan& own_;
    Dependencies world_;
    Prng steps_;  ///< Separate, so that what a seed draws besides stays what it was.
    DiskJobs jobs_;
    std::vector<Order> orders_;
    bool is_source_;
    bool is_trying_ = false;      ///< try_waiting() is due in a moment.
    bool is_busy_ = false;        ///< The thread is, or is about to be.
    std::optional<DiskJob> job_;  ///< That it does.
    std::optional<Performed> performed_;
    Did did_;
};

}  // namespace stage::sim
