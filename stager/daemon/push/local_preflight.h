// What does a look at this node's disk say, before anything is pushed?
//
// The daemon asks no disk itself: it starts a worker that only looks
// (stager/worker/staging/preflight.h) and tells what that one said.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/run/worker_process.h"

#include <functional>
#include <memory>

namespace stage {

struct PreflightOrder {
    std::string specs;
    bool is_source = false;  ///< At the source; else at the destination.
    bool compares = false;   ///< Reads all of it.
    std::vector<std::byte> manifest{};
};

class LocalPreflight {
  public:
    using OnDone = std::function<void(Result<WorkerLook>)>;

    /// `on_done` comes once, from the loop, and may destroy this: a look that takes longer than
    /// StageTimeout (its disk hangs) has failed. Who compares reads all of a file, and may take
    /// the time that whoever asked for it gives. Destroying it before ends the worker.
    /// `services` outlives it.
    LocalPreflight(Services& services, const PreflightOrder& order, OnDone on_done);
    LocalPreflight(const LocalPreflight&) = delete;
    LocalPreflight& operator=(const LocalPreflight&) = delete;
    ~LocalPreflight() = default;

  private:
    void on_message(FromWorker message);
    void finish(Result<WorkerLook> result);

    OnDone on_done_;
    std::unique_ptr<WorkerProcess> worker_;
    WorkerLook look_;
    Loop& loop_;
    Alarm limit_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
