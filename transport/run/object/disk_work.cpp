#include "transport/run/object/disk_work.h"

#include <utility>

namespace stage {

DiskWork::DiskWork(ObjectIo& object, std::size_t deferred_max, Complete complete)
    : object_{object}, deferred_max_{deferred_max}, complete_{std::move(complete)} {
}

void DiskWork::perform(const DiskJob& job) {
    Performed performed = object_.perform(job.operation, job.buffer);
    if (performed.again && deferred_.size() < deferred_max_) {
        deferred_.push_back(job);
        return;
    }
    if (performed.again) {
        performed.completion.verdict = core::Verdict::bad_digest;
    }
    const bool placed = job.operation.kind == core::OperationKind::store && !performed.again;
    complete_(std::move(performed.completion));
    if (placed && !deferred_.empty()) {
        retry_deferred();
    }
}

/// Until all that are left were refused: each that is placed may say where others go.
void DiskWork::retry_deferred() {
    for (std::size_t refused = 0; refused < deferred_.size();) {
        const DiskJob job = deferred_.front();
        deferred_.pop_front();
        Performed performed = object_.perform(job.operation, job.buffer);
        if (performed.again) {
            deferred_.push_back(job);
            ++refused;
        } else {
            complete_(std::move(performed.completion));
            refused = 0;
        }
    }
}

}  // namespace stage
