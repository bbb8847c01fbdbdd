// Does another node have this file, or read it just now?
//
// A talk a file, in three steps: who its keeper is (lease_servers.h); a lease of the keeper,
// who says "read it" or where it lies (lease_server.h); and if it lies somewhere, fetching it
// from there (cache_server.h) into this node's cache. Whoever can't be reached, is silent or
// ends in between makes this node read for itself: what goes wrong costs time, never bytes.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/cache_peers.h"
#include "stager/daemon/cache/lease_servers.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <list>
#include <map>
#include <memory>

namespace stage {

/// A holder that lends to as many as it can is asked again after so long, and so often; then
/// this node reads, and the keeper goes on naming that holder to others.
inline constexpr Duration kBusyPause = std::chrono::seconds{1};
inline constexpr unsigned kBusyTimesMax = 30;

class ClusterCache final : public CachePeers {
  public:
    /// `services` outlives it.
    explicit ClusterCache(Services& services);
    ClusterCache(const ClusterCache&) = delete;
    ClusterCache& operator=(const ClusterCache&) = delete;
    ~ClusterCache() override;

    /// These nodes keep the leases, for the next kKeepersAge.
    void know(std::vector<SlurmNode> nodes) { keepers_.know(std::move(nodes)); }

    void ask(const LeasedFile& file, bool may_wait) override;
    void missed(const LeasedFile& file) override;
    void settle(const LeasedFile& file, bool is_here) override;

  private:
    enum class Phase : unsigned char {
        looking,   ///< For its keeper.
        waiting,   ///< For the keeper's word.
        fetching,  ///< From the holder.
        reading,   ///< This node does; the lease is its.
    };
    struct Talk {
        Phase phase = Phase::looking;
        bool may_wait = true;
        std::unique_ptr<DrivenLink> keeper;
        std::unique_ptr<DrivenLink> holder;
        std::unique_ptr<Alarm> pulse;
        std::unique_ptr<Alarm> silence;         ///< Of the keeper.
        std::unique_ptr<Alarm> holder_silence;  ///< Until it says FOUND.
        std::unique_ptr<Alarm> again;           ///< A holder that is busy is asked again.
        LeasedMessage where;                    ///< The holder.
        unsigned times_busy = 0;
    };
    using Talks = std::map<LeasedFile, Talk>;

    void on_keepers();
    void begin(const LeasedFile& file, Talk& talk);
    void pulse(const LeasedFile& file);
    void on_keeper(const LeasedFile& file);
    [[nodiscard]] bool take_frame(const LeasedFile& file);
    void on_keeper_gone(const LeasedFile& file);
    void on_word(const LeasedFile& file, Talk& talk, const LeasedMessage& word);
    void begin_fetching(const LeasedFile& file, Talk& talk, const LeasedMessage& word);
    void fetch(const LeasedFile& file, Talk& talk);
    void on_busy(const LeasedFile& file, Talk& talk);
    static void leave_keeper(Talk& talk);
    void on_holder(const LeasedFile& file);
    void on_found(const LeasedFile& file, Talk& talk, const FoundMessage& found);
    void hear(Talk& talk);
    [[nodiscard]] Duration patience() const;
    void read(const LeasedFile& file);
    void drop(Talks::iterator talk);
    void let_end(std::unique_ptr<DrivenLink> link);

    Services& services_;
    LeaseServers keepers_;
    Talks talks_;
    std::list<std::unique_ptr<DrivenLink>> ending_;  ///< Until they have said their last.
};

}  // namespace stage
