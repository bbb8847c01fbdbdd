// Performs disk operations in their order, and again those stores that came too early.
//
// A store whose place is not known yet is tried again after each block that was placed. If more
// than `deferred_max` of these wait, the newest are returned as bad, to be requested again
// later.
#pragma once

#include "transport/run/object/object_io.h"

#include <deque>
#include <functional>

namespace stage {

struct DiskJob {
    core::Operation operation;
    MutableBytes buffer;
};

class DiskWork {
  public:
    using Complete = std::function<void(core::Completion)>;

    /// `object` must outlive this. `complete` is called from perform(), as soon as an operation
    /// is done.
    DiskWork(ObjectIo& object, std::size_t deferred_max, Complete complete);

    /// Blocks as long as the object's operations do.
    void perform(const DiskJob& job);

  private:
    void retry_deferred();

    ObjectIo& object_;
    std::size_t deferred_max_;
    Complete complete_;
    std::deque<DiskJob> deferred_;
};

}  // namespace stage
