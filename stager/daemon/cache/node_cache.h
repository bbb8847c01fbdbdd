// What has this node staged before, and who may have it?
//
// A stage's worker asks: what is in this file (by its stamp), and have you these bytes (by
// their digests)? It is given them as a descriptor for reading, copies them as its user, and
// compares. After a good staging it hands over what it wrote; a copier (cache/copier.h) puts
// that into the cache. All of it is a user's own: the uid is the job's, as slurmd knows it.
//
// Of a stage that is broken off it keeps what had come: the descriptor of each file that a
// worker writes is here until it is whole, and if it doesn't come to be, a copier puts its
// blocks into the cache as a part, for the same user's next stage of the same file.
//
// Of the stages that want the same file at once one reads it, and only if no other node does or
// has (cache_peers.h): then its bytes come from there, and are compared with what that node
// promised.
//
// Off where CacheSize is 0 or CacheDir is unfit; then nothing is known and nothing is kept.
#pragma once

#include "stager/cache/cache_index.h"
#include "stager/cache/copier.h"
#include "stager/cache/fair_queue.h"
#include "stager/cache/leases.h"
#include "stager/cache/store.h"
#include "stager/config/config.h"
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

/// What one stage may ask: each of its files by stamp and by content, and again. Beyond that
/// nothing is known to it.
inline constexpr std::size_t kMaxAsks = 4 * kMaxSpecs;

class NodeCache {
  public:
    /// A stage of this node, by a number of its own.
    using Member = Leases::Holder;
    /// The descriptor is borrowed for the call; -1 if there is none.
    using Reply = std::function<void(const WorkerTold&, int file)>;

    struct Dependencies {
        Loop& loop;
        const Logger& log;
        const Config& config;
        Counters& counters;
        Children& children;
        std::uint32_t copier_role = 0;
    };
    /// All that is handed in outlives it.
    explicit NodeCache(Dependencies around);
    NodeCache(const NodeCache&) = delete;
    NodeCache& operator=(const NodeCache&) = delete;
    ~NodeCache();

    /// Opens CacheDir and sweeps it, where the site wants a cache.
    void open();
    /// Outlives it, as long as it is set; none: every node reads for itself.
    void set_peers(CachePeers* peers);
    [[nodiscard]] bool is_on() const { return store_ && around_.config.cache_size > 0; }
    [[nodiscard]] const CacheIndex& shelf() const { return shelf_; }

    [[nodiscard]] Member enter() { return ++last_member_; }
    /// Nothing more comes of it.
    void leave(Member member);
    /// Its worker has gone and another begins: nobody waits for the last answer.
    void begin_anew(Member member);

    /// The reply comes at once, or when another stage has read the file. Who asks for the next
    /// one before that (its patience has ended) reads that itself.
    void ask(Member member, std::uint32_t uid, const WorkerAsk& question, Reply reply);
    void keep(Member member, std::uint32_t uid, const WorkerKeep& what, UntrustedFd file);
    /// It is not what it says: it goes.
    void drop(const CacheKey& key);

    /// What came of that file before. At once.
    void seek(Member member, std::uint32_t uid, const SourceStamp& stamp, const Reply& reply);
    /// The worker writes it.
    void begun(Member member, std::uint32_t uid, const WorkerBegun& what, UntrustedFd file);
    /// All of them are whole here.
    void whole(Member member);
    /// The worker has gone: what is not whole is kept as far as it came.
    void broken_off(Member member);

    /// Whoever wants that file here is to read it.
    void on_turn(const LeasedFile& file);
    /// Another node sends that file over `socket`, as `order` says. Once it is here and has
    /// `content` all that wait are told; else peers are told that it was missed. Fails if it
    /// can't begin.
    [[nodiscard]] Status take_in(const LeasedFile& file,
                                 const Content& content,
                                 const CopyOrder& order,
                                 UniqueFd socket);
    struct Lent {
        Content content;
        std::uint64_t bytes = 0;
        UniqueFd file;  ///< For reading.
    };
    /// What that file holds, if this node's cache has it.
    [[nodiscard]] std::optional<Content> content_of(const LeasedFile& file) const;
    /// For another node's cache, which asks for this user.
    [[nodiscard]] std::optional<Lent> lend(const LeasedFile& file);

  private:
    struct Job {
        LeasedFile file;
        Digest128 sum{};
        std::uint64_t bytes = 0;
        UntrustedFd from;
        std::optional<Content> promised{};  ///< By the node that sends it.
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
        std::uint64_t reserved = 0;  ///< For what it may have written by now.
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
    void tell(Member member, const LeasedFile& file);
    void tell(const LeasedFile& file, const Reply& reply) const;
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

    Dependencies around_;
    std::optional<CacheStore> store_;
    CloserPtr removed_ = std::make_shared<DeferredCloser>();  ///< Closes large entries.
    CacheIndex shelf_;
    Leases leases_;
    CachePeers* peers_ = nullptr;
    std::set<LeasedFile> wanted_;     ///< Peers know that we want them.
    std::set<LeasedFile> undecided_;  ///< Of these, what they have not answered yet.
    std::map<Member, Waiting> waiting_;
    std::map<Member, std::size_t> asked_;
    std::map<Member, std::vector<CacheKey>> used_;
    std::map<Member, std::vector<Begun>> begun_;
    FairPlaces begun_places_;
    FairQueue<Job> jobs_;
    FairPlaces copiers_;  ///< Of what is not fetched.
    std::map<std::uint64_t, Copying> copying_;
    std::uint64_t last_copy_ = 0;
    Member last_member_ = 0;
};

}  // namespace stage
