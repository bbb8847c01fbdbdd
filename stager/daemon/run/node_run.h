// Runs one node's part of a stage: job directory, sockets, wire-up and worker.
//
// They are started in this order; then the object passes messages between worker, wire-up and
// stage. It decides nothing: it reports to the stage, which answers with abort or release. A
// wire-up that is lost before this node's part is sent is replaced once, together with the
// worker; after that it is given up (on_wire_up_lost).
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/jobs/outside.h"
#include "stager/daemon/run/cache_link.h"
#include "stager/daemon/run/data_endpoints.h"
#include "stager/daemon/run/data_ports.h"
#include "stager/daemon/run/wire_up.h"
#include "stager/daemon/run/worker_order.h"
#include "stager/daemon/run/worker_process.h"
#include "stager/daemon/tree/epoch.h"

#include <memory>
#include <optional>

namespace stage {

class HostPool;
class NodeCache;
class UserClosers;
class VerdictStore;

/// Receives the events of a run, from the loop or from within its calls.
class NodeRunOwner {
  public:
    NodeRunOwner() = default;
    NodeRunOwner(const NodeRunOwner&) = delete;
    NodeRunOwner& operator=(const NodeRunOwner&) = delete;
    virtual ~NodeRunOwner() = default;

    virtual void on_started() = 0;
    /// This node's part of a collective of the wire-up.
    virtual void on_wire_up_part(Collective kind,
                                 std::uint32_t sequence,
                                 std::vector<std::byte> bytes) = 0;
    /// The worker receives packets; called once for each worker.
    virtual void on_listening() = 0;
    virtual void on_outcome(WorkerOutcome outcome) = 0;
    /// The source's worker: the broadcast went on without that member.
    virtual void on_dropped(const WorkerDropped& dropped) = 0;
    /// The wire-up has failed on this node; begin_epoch() may help.
    virtual void on_wire_up_lost(const std::string& why) = 0;
    /// Another program uses the group's port here; begin_epoch() may help. Until then nothing
    /// runs.
    virtual void on_port_taken(const std::string& why) = 0;
    /// The run can't go on, or the worker ended before its outcome.
    virtual void on_run_failed(Blame blame, const std::string& sentence) = 0;
    /// No process of this run is left.
    virtual void on_gone() = 0;
};

class NodeRun final : private WireUpOwner {
  public:
    /// All of it outlives the object.
    struct Resources {
        HostPool& hosts;
        const VerdictStore& verdicts;
        NodeCache& cache;
        UserClosers& closers;
        DataPorts& ports;
    };

    /// `basics` and `owner` outlive the object.
    NodeRun(const Basics& basics,
            const Resources& resources,
            NodeRunOwner& owner,
            RunOrder order);
    NodeRun(const NodeRun&) = delete;
    NodeRun& operator=(const NodeRun&) = delete;
    ~NodeRun() override = default;

    /// Starts everything, beginning with the directory. `root`: StageRoot, borrowed for the
    /// call.
    void begin(int root);

    void wire_up_result(Collective kind, std::uint32_t sequence, std::vector<std::byte> bytes);
    /// The workers of all nodes receive packets.
    void all_listen();
    /// Starts the wire-up again, with a worker whose cards go over its own socket.
    void begin_epoch(const Epoch& epoch);
    /// Makes the worker stop and remove what it has not finished; kills it if that takes long.
    void abort(Blame blame, const std::string& sentence);
    /// No other node needs the worker's repairs any more.
    void release();

    /// The worker has all cards: the others can do without it.
    [[nodiscard]] bool has_cards() const { return has_cards_; }
    [[nodiscard]] bool is_gone() const { return !wire_up_ && !worker_; }
    [[nodiscard]] const WorkerProgress& progress() const { return progress_; }
    /// See port_beyond_range().
    [[nodiscard]] std::optional<std::uint16_t> port_beyond() const { return port_beyond_; }
    /// Whether this node has done its part of the wire-up, or has every byte.
    [[nodiscard]] bool awaits_others() const;
    /// What the worker counted last; nothing before its result.
    [[nodiscard]] const std::optional<WorkerStatistics>& last_statistics() const {
        return statistics_;
    }

  private:
    enum class Phase : unsigned char { preparing, wiring, wired, over };

    void on_prepared(std::vector<std::string> environment) override;
    void on_part(Collective kind,
                 std::uint32_t sequence,
                 std::vector<std::byte> bytes) override;
    void on_word(const ToWorker& message) override;
    void on_wired() override;
    void on_unavailable(const std::string& why) override;
    void on_lost(const std::string& why) override;

    [[nodiscard]] bool is_of_request() const;
    void make_directory(int root);
    void open_endpoints();
    [[nodiscard]] PortSupply borrow_port();
    [[nodiscard]] Neighbours neighbours() const;
    void start_wire_up();
    void drop_wire_up();
    void start_worker(std::vector<std::string> environment);
    void on_worker_message(FromWorker message);
    void on_worker_ended(const std::string& why);
    void drop_worker();
    void free_port();
    void restart_worker();
    void hold_outcome(WorkerOutcome outcome);
    void report_outcome();
    void fail(Blame blame, const std::string& sentence);
    void notify_if_gone();

    const Basics& basics_;
    Resources resources_;
    NodeRunOwner& owner_;
    RunOrder order_;
    CacheLink cache_link_;
    OutsideFiles outside_;
    Phase phase_ = Phase::preparing;
    std::string directory_;
    std::unique_ptr<LentPort> port_;  ///< Until the worker has ended.
    std::optional<std::uint16_t> port_beyond_;
    std::vector<Endpoint> endpoints_;  ///< Until the worker has them.

    std::unique_ptr<WireUp> wire_up_;
    bool wire_up_replaced_ = false;
    bool waits_for_port_ = false;
    bool part_left_ = false;  ///< This node's part has been sent: no second start.

    std::unique_ptr<WorkerProcess> worker_;
    bool restarting_ = false;  ///< The worker must end, and another one start.
    bool listens_ = false;     ///< The worker receives packets.
    bool has_cards_ = false;
    /// A failure that may only mean that the wire-up is lost, which this object sees later.
    std::optional<WorkerOutcome> held_outcome_;
    Alarm outcome_alarm_;
    bool outcome_seen_ = false;
    bool failed_ = false;
    bool aborted_ = false;
    WorkerProgress progress_;
    std::optional<WorkerStatistics> statistics_;
    bool notified_gone_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
