// What does the cache keep of a stage that was broken off?
//
// A worker that is killed can hand over nothing, so it does when it begins: the daemon has the
// descriptors of its files, for reading, until they are whole. It doesn't look at them. Once
// the worker has gone without that, a copier (cache/part_copy.h) keeps the blocks that had
// come.
#include "stager/cache/part_copy.h"
#include "stager/daemon/node_cache.h"
#include "stager/worker/stranger_fd.h"

#include <ctime>
#include <utility>

namespace stage {

void NodeCache::seek(Member member,
                     std::uint32_t uid,
                     const SourceStamp& stamp,
                     const Reply& reply) {
    UniqueFd file;
    std::vector<std::byte> whole;
    if (++asked_[member] <= kMaxAsks) {
        const auto content = shelf_.find(uid, stamp);
        file = open_for(
            member, content ? ShelfKey{.uid = uid, .content = *content} : part_of(uid, stamp));
        whole = content && file ? bytes_of(*content) : std::vector<std::byte>{};
    }
    reply({.about = {stamp.begin(), stamp.end()}, .content = std::move(whole)}, file.get());
}

void NodeCache::begun(Member member,
                      std::uint32_t uid,
                      const WorkerBegun& what,
                      StrangerFd file) {
    const bool is_wanted = is_on() && file && what.bytes > 0 && what.bytes <= kPartOfMax &&
                           begun_[member].size() < kMaxBegun && begun_places_.take(uid);
    if (is_wanted) {
        begun_[member].push_back({.file = {.uid = uid, .stamp = what.stamp},
                                  .bytes = what.bytes,
                                  .from = std::move(file)});
    }
}

/// They are nobody's business any more.
std::vector<NodeCache::Begun> NodeCache::take_begun(Member member) {
    const auto found = begun_.find(member);
    if (found == begun_.end()) {
        return {};
    }
    std::vector<Begun> all = std::move(found->second);
    begun_.erase(found);
    for (const Begun& one : all) {
        begun_places_.leave(one.file.uid);
    }
    return all;
}

void NodeCache::whole(Member member) {
    for (const Begun& one : take_begun(member)) {
        drop(part_of(one.file.uid, one.file.stamp));
    }
}

void NodeCache::broken_off(Member member) {
    for (Begun& one : take_begun(member)) {
        const std::uint32_t uid = one.file.uid;
        if (!is_on() || shelf_.find(uid, one.file.stamp)) {
            continue;
        }
        const CopyOrder order{
            .way = CopyWay::part, .size = one.bytes, .key = {}, .stamp = one.file.stamp};
        const bool is_in_line = jobs_.push(uid,
                                           {.file = one.file,
                                            .sum = {},
                                            .bytes = part_bytes_max(one.bytes),
                                            .from = std::move(one.from),
                                            .order = order});
        if (!is_in_line) {
            break;
        }
    }
    begin_copies();
}

/// In the place of what there was, unless that is more.
Status NodeCache::take_over_part(const Copying& copying) {
    const LeasedFile& file = copying.job.file;
    const ShelfKey key = part_of(file.uid, file.stamp);
    const Shelf::Size size = CacheStore::size_of(copying.draft, true);
    const bool is_known = shelf_.find(file.uid, file.stamp).has_value();
    if (is_known || (shelf_.has(key) && shelf_.bytes_of(key) > size.bytes)) {
        store_->abandon(copying.draft);
        return {};
    }
    if (Status published = store_->publish(copying.draft, key); !published) {
        return published;
    }
    shelf_.put(key, size, ::time(nullptr));
    ++around_.counters.cache_parts;
    around_.log.info("what came of a file is kept", {{"uid", file.uid}, {"bytes", size.bytes}});
    if (!make_room(0)) {
        around_.log.warn("the node cache is larger than CacheSize");
    }
    return {};
}

}  // namespace stage
