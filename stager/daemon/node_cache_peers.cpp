// What the cache has to do with those of other nodes.
#include "stager/daemon/node_cache.h"
#include "stager/worker/stranger_fd.h"

#include <utility>
#include <vector>

namespace stage {
namespace {

constexpr std::size_t kFetchesAtOnce = 16;  ///< Each is a process.

}  // namespace

void NodeCache::set_peers(CachePeers* peers) {
    peers_ = peers;
    wanted_.clear();
    undecided_.clear();
}

/// Whom the others here wait for asks for all of them, and is told to read by on_turn().
void NodeCache::ask_peers(Member member, const LeasedFile& file, bool may_wait) {
    const bool is_reader = peers_ != nullptr && leases_.holder_of(file) == member;
    if (is_reader && wanted_.insert(file).second) {
        undecided_.insert(file);
        peers_->ask(file, may_wait);
    } else if (!is_reader || !undecided_.contains(file)) {
        tell(member, file);
    }
}

void NodeCache::on_turn(const LeasedFile& file) {
    if (undecided_.erase(file) > 0) {
        tell(leases_.holder_of(file), file);
    }
}

/// Of what nobody here reads or waits for any more.
void NodeCache::release_peers() {
    const std::set<LeasedFile> wanted = wanted_;
    for (const LeasedFile& file : wanted) {
        if (leases_.holder_of(file) == 0) {
            wanted_.erase(file);
            undecided_.erase(file);
            peers_->settle(file, shelf_.find(file.uid, file.stamp).has_value());
        }
    }
}

Status NodeCache::take_in(const LeasedFile& file,
                          const Content& content,
                          const CopyOrder& order,
                          UniqueFd socket) {
    if (!is_on()) {
        return Error{Blame::node, "the node cache is off"};
    }
    if (fetches() >= kFetchesAtOnce) {
        return Error{Blame::node, "too many files come from other nodes already"};
    }
    Job job{.file = file,
            .sum = content.sum,
            .bytes = order.size,
            .from = StrangerFd{std::move(socket)},
            .promised = content,
            .order = order};
    return begin_copy(job);
}

std::optional<Content> NodeCache::content_of(const LeasedFile& file) const {
    return is_on() ? shelf_.find(file.uid, file.stamp) : std::nullopt;
}

std::optional<NodeCache::Lent> NodeCache::lend(const LeasedFile& file) {
    const auto content = content_of(file);
    if (!content) {
        return std::nullopt;
    }
    const ShelfKey key{.uid = file.uid, .content = *content};
    Lent lent{.content = *content, .bytes = shelf_.bytes_of(key), .file = store_->open(key)};
    if (!lent.file) {
        drop(key);
        return std::nullopt;
    }
    CacheStore::mark_used(lent.file);
    return lent;
}

}  // namespace stage
