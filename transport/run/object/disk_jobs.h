// Decides which disk operation of a member is next, and keeps what became of them.
//
// They are performed one at a time, in the order in which they came. A store whose place is not
// known yet is tried again after each block that was placed, before all others. If more than
// `deferred_max` of these wait, the newest are returned as bad, to be requested again later.
// What waits for another session (a load, or the end) lets others pass, and is tried again
// whenever its caller thinks fit.
//
// It performs nothing itself, and knows of no thread: see disk_queue.h, and the simulator.
#pragma once

#include "transport/run/object/object_io.h"

#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace stage {

struct DiskJob {
    core::Operation operation;
    MutableBytes buffer;
};

class DiskJobs {
  public:
    explicit DiskJobs(std::size_t deferred_max) : deferred_max_{deferred_max} {}

    void add(const DiskJob& job) { queued_.push_back(job); }
    /// False while one is performed.
    [[nodiscard]] bool has_next() const;
    /// To be performed now, until performed(). Requires has_next().
    [[nodiscard]] DiskJob next();
    /// True if there is something to take now, and was nothing before.
    [[nodiscard]] bool performed(Performed performed);
    [[nodiscard]] std::vector<core::Completion> take() { return std::exchange(done_, {}); }
    [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
    /// Only such operations are left as wait for another session.
    [[nodiscard]] bool is_waiting() const {
        return !waiting_.empty() && queued_.empty() && deferred_.empty() && !performing_ &&
               done_.empty();
    }
    /// What waits for another session is tried again, before all others: the first one that
    /// still waits ends the attempt.
    void try_waiting() { tries_waiting_ = !waiting_.empty(); }
    /// No operation begins any more.
    void stop() { is_stopped_ = true; }
    [[nodiscard]] bool is_stopped() const { return is_stopped_; }

  private:
    std::size_t deferred_max_;
    std::deque<DiskJob> queued_;
    std::deque<DiskJob> deferred_;
    std::size_t retries_ = 0;        ///< The number of due jobs at the front of deferred_.
    std::deque<DiskJob> waiting_;    ///< For another session, in their order.
    bool tries_waiting_ = false;     ///< The first of these is due.
    bool is_waiting_tried_ = false;  ///< What is performed is one of these.
    std::optional<DiskJob> performing_;
    std::vector<core::Completion> done_;
    bool is_stopped_ = false;
};

}  // namespace stage
