#include "transport/run/object/disk_jobs.h"

#include "transport/base/invariant.h"

#include <utility>

namespace stage {
namespace {

DiskJob take_first(std::deque<DiskJob>& jobs) {
    DiskJob first = jobs.front();
    jobs.pop_front();
    return first;
}

}  // namespace

bool DiskJobs::has_next() const {
    return !is_stopped_ && !performing_ && (tries_waiting_ || retries_ > 0 || !queued_.empty());
}

DiskJob DiskJobs::next() {
    invariant(has_next(), "one operation is performed at a time");
    is_waiting_tried_ = std::exchange(tries_waiting_, false);
    if (is_waiting_tried_) {
        return performing_.emplace(take_first(waiting_));
    }
    const bool is_retry = retries_ > 0;
    retries_ -= is_retry ? 1 : 0;
    return performing_.emplace(take_first(is_retry ? deferred_ : queued_));
}

bool DiskJobs::performed(Performed performed) {
    invariant(performing_.has_value(), "what was performed had begun");
    const DiskJob job = *std::exchange(performing_, std::nullopt);
    if (performed.again && job.operation.kind != core::OperationKind::store) {
        if (is_waiting_tried_) {
            waiting_.push_front(job);
        } else {
            waiting_.push_back(job);
        }
        return false;
    }
    tries_waiting_ = (tries_waiting_ || is_waiting_tried_) && !waiting_.empty();
    if (performed.again && deferred_.size() < deferred_max_) {
        deferred_.push_back(job);
        return false;
    }
    if (performed.again) {
        performed.completion.verdict = core::Verdict::bad_digest;
    } else if (job.operation.kind == core::OperationKind::store &&
               performed.completion.verdict == core::Verdict::good) {
        retries_ = deferred_.size();  // It may have said where these go.
    }
    done_.push_back(std::move(performed.completion));
    return done_.size() == 1;
}

}  // namespace stage
