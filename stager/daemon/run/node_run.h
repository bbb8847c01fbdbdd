// What does one node do for a stage once it may?
//
// The job's directory, the worker's sockets, a PMIx host, the worker itself, in this order;
// then it carries words between worker, host and stage. It decides nothing: the stage is told,
// and says abort or release. A host that is wedged or dies before this node's card has left is
// replaced once, and the worker with it; after that PMIx is given up
// (go_direct).
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/base/services.h"
#include "stager/daemon/jobs/outside.h"
#include "stager/daemon/run/cache_link.h"
#include "stager/daemon/run/data_sockets.h"
#include "stager/daemon/run/host_pool.h"
#include "stager/daemon/run/worker_order.h"
#include "stager/daemon/run/worker_process.h"

#include <memory>
#include <optional>

namespace stage {

/// What a run tells its stage, from the loop or from within its calls.
class NodeRunOwner {
  public:
    NodeRunOwner() = default;
    NodeRunOwner(const NodeRunOwner&) = delete;
    NodeRunOwner& operator=(const NodeRunOwner&) = delete;
    virtual ~NodeRunOwner() = default;

    virtual void on_started() = 0;
    virtual void on_fence_part(std::uint32_t sequence, std::vector<std::byte> bytes) = 0;
    virtual void on_group_part(std::uint32_t sequence) = 0;
    virtual void on_card(std::vector<std::byte> card) = 0;
    /// The worker takes packets; once for each that is started.
    virtual void on_listening() = 0;
    virtual void on_outcome(WorkerOutcome outcome) = 0;
    /// PMIx won't do it on this node; go_direct() might.
    virtual void on_wire_up_lost(const std::string& why) = 0;
    /// Another program has the group's port here; move() might help. Until then nothing runs.
    virtual void on_port_taken(const std::string& why) = 0;
    /// It can't go on, or the worker ended before its outcome.
    virtual void on_run_failed(Blame blame, const std::string& sentence) = 0;
    /// No process of this run is left.
    virtual void on_gone() = 0;
};

class NodeRun {
  public:
    /// `owner` outlives it.
    NodeRun(Services& services, NodeRunOwner& owner, RunOrder order);
    NodeRun(const NodeRun&) = delete;
    NodeRun& operator=(const NodeRun&) = delete;
    ~NodeRun() = default;

    /// Everything from the directory on. `root`: StageRoot, borrowed for the call.
    void begin(int root);

    void fence_result(std::uint32_t sequence, std::vector<std::byte> bytes);
    void group_result(std::uint32_t sequence, std::uint64_t context_id);
    void cards(std::vector<std::byte> table);
    /// So do all others.
    void all_listen();
    /// Begins the wire-up anew, with a worker whose cards go over its own socket.
    void go_direct();
    /// The same, and the group has another port.
    void move(std::uint16_t port);
    /// The worker stops and removes what it has not finished, or is killed soon.
    void abort(Blame blame, const std::string& sentence);
    /// Nobody needs the worker's repairs any more.
    void release();

    [[nodiscard]] bool is_gone() const { return !host_ && !worker_ && !waits_for_host_; }
    [[nodiscard]] const WorkerProgress& progress() const { return progress_; }
    /// This node has done its part of the wire-up, or has every byte.
    [[nodiscard]] bool awaits_others() const;
    [[nodiscard]] const std::string& last_statistics() const { return statistics_; }

  private:
    enum class Phase : unsigned char { preparing, wiring, wired, over };

    void watch_connect(bool is_due);
    void make_directory(int root);
    void open_sockets();
    [[nodiscard]] udp::Neighbours neighbours() const;
    void take_host();
    void on_host(Result<HostPool::HostPointer> host);
    void on_host_message(FromHost message);
    void replace_host(const std::string& why);
    void drop_host();
    void start_worker(std::vector<std::string> environment);
    void on_worker_message(FromWorker message);
    void on_worker_ended(const std::string& why);
    void drop_worker();
    void restart_worker();
    void hold_outcome(WorkerOutcome outcome);
    void tell_outcome();
    void fail(Blame blame, const std::string& sentence);
    void tell_if_gone();

    Services& services_;
    NodeRunOwner& owner_;
    RunOrder order_;
    CacheLink cache_link_;
    OutsideFiles outside_;
    Phase phase_ = Phase::preparing;
    std::string directory_;
    DataSockets sockets_;  ///< Until the worker has them; then its interfaces only.

    HostPool::HostPointer host_;
    bool waits_for_host_ = false;
    bool host_replaced_ = false;
    bool waits_for_port_ = false;
    bool waits_for_connect_ = false;  ///< The worker is to connect to its host.
    bool part_left_ = false;          ///< This node's card is with the others: no second start.
    Alarm host_alarm_;

    std::unique_ptr<WorkerProcess> worker_;
    bool restarting_ = false;  ///< The worker is to leave and another to come.
    bool listens_ = false;     ///< It takes packets.
    /// What a worker came to that may only have lost its host a moment before we have.
    std::optional<WorkerOutcome> held_outcome_;
    Alarm outcome_alarm_;
    bool outcome_seen_ = false;
    bool failed_ = false;
    bool aborted_ = false;
    WorkerProgress progress_;
    std::string statistics_;
    bool told_gone_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
