// Fetches a file from another node's cache, or waits for a node that is reading it.
//
// Each file has one session, in three steps: find the lease server of the file
// (lease_servers.h); ask it for the lease, and learn that this node is to read the file or
// which node holds it (lease_server.h); in the latter case fetch the file from that node
// (cache_server.h) into this node's cache. If a node is unreachable, silent or ends in between,
// this node reads the source itself: a failure costs time, never bytes.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/cache_peers.h"
#include "stager/daemon/cache/lease_servers.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/daemon/tree/tree_message.h"

#include <list>
#include <map>
#include <memory>

namespace stage {

class NodeCache;

/// A holder with no free transfer is asked again after this pause, at most kBusyTimesMax times;
/// then this node reads, and the lease server goes on naming that holder to others.
inline constexpr Duration kBusyPause = std::chrono::seconds{1};
inline constexpr unsigned kBusyTimesMax = 30;

class ClusterCache final : public CachePeers {
  public:
    /// All three outlive the object.
    ClusterCache(const Basics& basics, LinkDialer& dialer, NodeCache& cache);
    ClusterCache(const ClusterCache&) = delete;
    ClusterCache& operator=(const ClusterCache&) = delete;
    ~ClusterCache() override;

    /// Sets the nodes that serve leases for the next kLeaseServersAge.
    void know(std::vector<SlurmNode> nodes) { lease_servers_.know(std::move(nodes)); }

    void ask(const LeasedFile& file, bool may_wait) override;
    void missed(const LeasedFile& file) override;
    void settle(const LeasedFile& file, bool is_here) override;

  private:
    enum class Phase : unsigned char {
        looking,   ///< For the lease server.
        waiting,   ///< For the lease server's answer.
        fetching,  ///< From the holder.
        reading,   ///< This node holds the lease and reads.
    };
    struct Session {
        Phase phase = Phase::looking;
        bool may_wait = true;
        std::unique_ptr<DrivenLink> lease_server;
        std::unique_ptr<DrivenLink> holder;
        std::unique_ptr<Alarm> pulse;
        std::unique_ptr<Alarm> silence;         ///< Ends the wait for the lease server.
        std::unique_ptr<Alarm> holder_silence;  ///< Ends the wait for the holder's FOUND.
        std::unique_ptr<Alarm> again;           ///< Repeats the question to a busy holder.
        LeasedMessage where;                    ///< The holder.
        unsigned times_busy = 0;
    };
    using Sessions = std::map<LeasedFile, Session>;

    void on_lease_servers();
    void begin(const LeasedFile& file, Session& session);
    void pulse(const LeasedFile& file);
    void on_lease_server(const LeasedFile& file);
    [[nodiscard]] bool take_frame(const LeasedFile& file);
    void on_lease_server_gone(const LeasedFile& file);
    void on_leased(const LeasedFile& file, Session& session, const LeasedMessage& leased);
    void begin_fetching(const LeasedFile& file, Session& session, const LeasedMessage& leased);
    void fetch(const LeasedFile& file, Session& session);
    void on_busy(const LeasedFile& file, Session& session);
    static void leave_lease_server(Session& session);
    void on_holder(const LeasedFile& file);
    void on_found(const LeasedFile& file, Session& session, const FoundMessage& found);
    void restart_silence(Session& session);
    [[nodiscard]] Duration silence_max() const;
    void read(const LeasedFile& file);
    void drop(Sessions::iterator session);
    void close_when_sent(std::unique_ptr<DrivenLink> link);

    const Basics& basics_;
    LinkDialer& dialer_;
    NodeCache& cache_;
    LeaseServers lease_servers_;
    Sessions sessions_;
    std::list<std::unique_ptr<DrivenLink>> ending_;  ///< Until their last message is sent.
};

}  // namespace stage
