// Checks this node's disk before a push, in a worker process.
//
// The daemon itself accesses no disk of a push: it starts a worker that only looks
// (stager/worker/staging/preflight.h), and reports what the worker has found.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/run/worker_process.h"

#include <functional>
#include <memory>

namespace stage {

struct PreflightOrder {
    std::string specs;
    bool is_source = false;  ///< At the source; else at the destination.
    bool compares = false;   ///< Reads all of the files.
    bool is_limited = true;  ///< Whether a comparison must end within StageTimeout, too.
    std::vector<std::byte> manifest{};
    /// The worker's user: root, or the one whose files another cluster's job wants.
    UserIdentity user{.uid = 0, .gid = 0, .name = {}};
};

class LocalPreflight {
  public:
    using OnDone = std::function<void(Result<WorkerLook>)>;

    /// The loop calls `on_done` once, which may destroy the object. A check that takes longer
    /// than StageTimeout (its disk hangs) has failed. A comparison for the user reads
    /// whole files, and may take as long as the node that asked for it waits. Destroying the
    /// object before ends the worker. Both references outlive the object.
    LocalPreflight(const Basics& basics,
                   UserClosers& closers,
                   const PreflightOrder& order,
                   OnDone on_done);
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
