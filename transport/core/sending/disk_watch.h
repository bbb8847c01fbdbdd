// Detects that this member's own disk no longer answers.
//
// If an operation is in progress and none completed for too long, this member cannot finish. It
// says so itself, before others notice its silence.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/sending/operation_queue.h"

#include <algorithm>
#include <optional>

namespace stage::core {

class DiskWatch {
  public:
    void on_ordered(Instant now, const Operation& operation) {
        const bool completes =
            operation.kind == OperationKind::load || operation.kind == OperationKind::verify ||
            operation.kind == OperationKind::store || operation.kind == OperationKind::finish;
        if (completes && under_way_++ == 0) {
            moved_at_ = now;
        }
    }

    /// Passes waiting operations on to the driver, as many as the batch takes.
    void order(Instant now, OperationQueue& waiting, OperationBatch& batch) {
        while (!waiting.empty() && !batch.full()) {
            on_ordered(now, waiting.front());
            batch.operations.push_back(waiting.pop_front());
        }
    }

    void on_completed(Instant now) {
        under_way_ -= under_way_ > 0 ? 1U : 0U;
        moved_at_ = now;
    }

    /// What is in progress waits for another session, not for the disk.
    void on_waiting(Instant now) { moved_at_ = now; }

    /// Whether operations in progress count. A store may wait for a block that is not here yet;
    /// the disk is responsible only for the time since the block arrived.
    void look(Instant now, bool counts) {
        if (counts && !counts_) {
            moved_at_ = std::max(moved_at_, now);
        }
        counts_ = counts;
    }

    /// The member was away for this long: its disk is not to blame for that.
    void forgive(Instant now, Duration absence) {
        moved_at_ = std::min(moved_at_ + absence, now);
    }

    [[nodiscard]] bool is_busy() const { return under_way_ > 0; }
    [[nodiscard]] bool is_stuck(Instant now, Duration timeout) const {
        return under_way_ > 0 && now > moved_at_ + timeout;
    }
    [[nodiscard]] std::optional<Instant> deadline(Duration timeout) const {
        return under_way_ > 0 ? std::optional{moved_at_ + timeout + Duration{1}} : std::nullopt;
    }

  private:
    std::uint32_t under_way_ = 0;
    bool counts_ = true;
    Instant moved_at_{};
};

}  // namespace stage::core
