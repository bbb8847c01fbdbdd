// Keeps files that stages have placed on this node for later stages of the same user.
//
// A stage's worker asks what a file contains (by its stamp), and for the bytes of a content (by
// their digests). It receives them as a descriptor for reading, copies them as its user, and
// compares. After a successful stage it hands over the files it wrote; a copier
// (cache/copier.h) puts them into the cache. All entries belong to one user: the uid is the
// job's, as slurmd knows it.
//
// Of an interrupted stage the cache keeps what was received: it holds the descriptor of each
// file that a worker writes until the file is whole; if the stage fails before, a copier puts
// the file's blocks into the cache as a part, for the same user's next stage of the same file.
//
// If several stages want the same file at once, one of them reads it, and only if no other node
// reads it or has it (cache_peers.h): in that case the bytes come from the other node, and are
// compared with the content that it announced.
//
// The cache is off if CacheSize is 0 or CacheDir can't be used; then every question is answered
// with "unknown" and nothing is kept.
#pragma once

#include "stager/cache/cache_index.h"
#include "stager/cache/copier.h"
#include "stager/cache/fair_queue.h"
#include "stager/cache/leases.h"
#include "stager/cache/store.h"
#include "stager/config/config.h"
#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/children.h"
#include "stager/daemon/base/counters.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/cache_peers.h"
#include "stager/messages/untrusted_fd.h"
#include "stager/messages/worker_setup.h"
#include "transport/base/log.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace stage {

/// The questions that one stage may ask: by stamp and by content for each of its files, with
/// repetitions. Beyond that every answer is "unknown".
inline constexpr std::size_t kMaxAsks = 4 * kMaxSpecs;

class NodeCache {
  public:
    /// A number for each stage of this node.
    using Member = Leases::Holder;
    /// The descriptor is borrowed for the call; -1 if there is none.
    using Reply = std::function<void(const WorkerCacheReply&, int file)>;

    /// `basics` outlives the object. `copier_role`: the spawner's role
    /// that runs run_cache_copier().
    NodeCache(const Basics& basics, std::uint32_t copier_role);
    NodeCache(const NodeCache&) = delete;
    NodeCache& operator=(const NodeCache&) = delete;
    ~NodeCache();

    /// Opens and sweeps CacheDir if the site has configured a cache.
    void open();
    /// `peers` outlives the cache, or is unset before; null: every node reads for itself.
    void set_peers(CachePeers* peers);
    [[nodiscard]] bool is_on() const { return store_ && basics_.config.cache_size > 0; }
    [[nodiscard]] const CacheIndex& index() const { return index_; }

    [[nodiscard]] Member enter() { return ++last_member_; }
    /// The stage is over; it receives no more replies.
    void leave(Member member);
    /// The stage's worker has ended and another one begins: a pending reply is dropped.
    void begin_anew(Member member);

    /// Replies at once, or when another stage has read the file. A member that asks for its
    /// next file before that (its waiting time is over) reads that file itself.
    void ask(Member member, std::uint32_t uid, const WorkerAsk& question, Reply reply);
    void keep(Member member, std::uint32_t uid, const WorkerKeep& what, UntrustedFd file);
    /// Removes an entry, for instance one whose bytes do not match its digest.
    void drop(const CacheKey& key);

    /// Replies at once with what an earlier stage kept of that file, whole or in part.
    void seek(Member member, std::uint32_t uid, const SourceStamp& stamp, const Reply& reply);
    /// The worker has begun to write that file.
    void begun(Member member, std::uint32_t uid, const WorkerBegun& what, UntrustedFd file);
    /// All files that the member has begun are whole.
    void whole(Member member);
    /// The worker has ended: files that are not whole are kept as parts.
    void broken_off(Member member);

    /// The stage of this node that wants the file is to read it.
    void on_turn(const LeasedFile& file);
    /// Receives that file from another node over `socket`, as `order` says. If it arrives with
    /// `content`, all waiting stages are answered; otherwise the peers' missed() is called.
    /// Fails if the copy can't begin.
    [[nodiscard]] Status take_in(const LeasedFile& file,
                                 const Content& content,
                                 const CopyOrder& order,
                                 UniqueFd socket);
    struct ServedFile {
        Content content;
        std::uint64_t bytes = 0;
        UniqueFd file;  ///< For reading.
    };
    /// The content of that file, if this node's cache has it.
    [[nodiscard]] std::optional<Content> content_of(const LeasedFile& file) const;
    /// Opens that file for another node's cache, on behalf of its user.
    [[nodiscard]] std::optional<ServedFile> serve(const LeasedFile& file);

  private:
    struct Job {
        LeasedFile file;
        Digest128 sum{};
        std::uint64_t bytes = 0;
        UntrustedFd from;
        std::optional<Content> promised{};  ///< Announced by the node that sends the file.
        CopyOrder order{};

        [[nodiscard]] bool is_part() const { return order.way == CopyWay::part; }
    };
    /// A file that is being written.
    struct Begun {
        LeasedFile file;
        std::uint64_t bytes = 0;
        UntrustedFd from;
    };
    struct Copying {
        Job job;
        CacheStore::Draft draft;
        UniqueFd socket;
        pid_t pid = -1;
        Instant begun{};
        std::unique_ptr<Alarm> alarm;
        std::uint64_t reserved = 0;  ///< For what it may have written up to now.
    };
    struct Waiting {
        LeasedFile file;
        Reply reply;
    };

    void answer_stamp(Member member, const LeasedFile& file, Reply reply);
    void answer_content(Member member,
                        const CacheKey& key,
                        const WorkerAsk& question,
                        const Reply& reply);
    void reply_to(Member member, const LeasedFile& file);
    void reply_about(const LeasedFile& file, const Reply& reply) const;
    void settle(const LeasedFile& file, bool is_known);
    void ask_peers(Member member, const LeasedFile& file, bool may_wait);
    void release_peers();
    [[nodiscard]] std::size_t fetches() const;
    void begin_copies();
    [[nodiscard]] Status begin_copy(Job& job);
    [[nodiscard]] Status make_room(std::uint64_t bytes);
    void on_copier(std::uint64_t id);
    [[nodiscard]] Status let_write(Copying& copying, std::uint64_t bytes);
    void end_copy(std::uint64_t id, const Result<Content>& content);
    [[nodiscard]] Status take_over(const Copying& copying, const Content& content);
    [[nodiscard]] Status take_over_part(const Copying& copying);
    [[nodiscard]] UniqueFd open_for(Member member, const CacheKey& key);
    [[nodiscard]] std::vector<Begun> take_begun(Member member);

    const Basics& basics_;
    std::uint32_t copier_role_;
    std::optional<CacheStore> store_;
    CloserPtr removed_ = std::make_shared<DeferredCloser>();  ///< Closes large entries.
    CacheIndex index_;
    Leases leases_;
    CachePeers* peers_ = nullptr;
    std::set<LeasedFile> wanted_;     ///< Files about which the peers were asked.
    std::set<LeasedFile> undecided_;  ///< Files about which peers have not answered.
    std::map<Member, Waiting> waiting_;
    std::map<Member, std::size_t> asked_;
    std::map<Member, std::vector<CacheKey>> used_;
    std::map<Member, std::vector<Begun>> begun_;
    FairPlaces begun_places_;
    FairQueue<Job> jobs_;
    FairPlaces copiers_;  ///< Without those that fetch from other nodes.
    std::map<std::uint64_t, Copying> copying_;
    std::uint64_t last_copy_ = 0;
    Member last_member_ = 0;
};

}  // namespace stage
