#include "stager/cache/cache_index.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace stage {

std::uint64_t least_taken(std::uint64_t bytes) {
    constexpr std::uint64_t kBlock = 4096;
    const std::uint64_t blocks = bytes / kBlock + (bytes % kBlock != 0 ? 1 : 0);
    // A worker may claim any length.
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / 4;
    return std::min(blocks, kMost / kBlock) * kBlock + kNameTakes;
}

bool CacheIndex::Older::operator()(const Node* one, const Node* other) const {
    return std::tie(one->second.used_at, one->first) <
           std::tie(other->second.used_at, other->first);
}

std::uint64_t CacheIndex::all_of(const Entry& entry) {
    return entry.taken + entry.stamps.size() * kNameTakes;
}

bool CacheIndex::could_take(std::uint64_t taken) const {
    return taken <= quota_ && in_use_ <= quota_ - taken;
}

std::optional<std::vector<CacheKey>> CacheIndex::room_for(std::uint64_t taken) const {
    if (!could_take(taken)) {
        return std::nullopt;
    }
    std::uint64_t all = taken_ + reserved_;
    std::vector<CacheKey> gone;
    const auto is_enough = [&] {
        return all + taken <= quota_ && entries_.size() - gone.size() < kEntriesMax;
    };
    for (auto node = idle_.begin(); !is_enough() && node != idle_.end(); ++node) {
        all -= all_of((*node)->second);
        gone.push_back((*node)->first);
    }
    return is_enough() ? std::optional{std::move(gone)} : std::nullopt;
}

void CacheIndex::put(const CacheKey& key, const Size& size, std::int64_t used_at) {
    remove(key);
    const std::uint64_t taken = std::max(least_taken(size.bytes), size.on_disk + kNameTakes);
    const Entry entry{.bytes = size.bytes, .taken = taken, .used_at = used_at};
    idle_.insert(&*entries_.emplace(key, entry).first);
    taken_ += taken;
}

std::uint64_t CacheIndex::bytes_of(const CacheKey& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? 0 : found->second.bytes;
}

void CacheIndex::remove(const CacheKey& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
        return;
    }
    taken_ -= all_of(found->second);
    in_use_ -= found->second.users > 0 ? found->second.taken : 0;
    for (const SourceStamp& stamp : found->second.stamps) {
        stamps_.erase({key.uid, stamp});
    }
    idle_.erase(&*found);
    entries_.erase(found);
}

void CacheIndex::use(const CacheKey& key, std::int64_t now) {
    const auto found = entries_.find(key);
    invariant(found != entries_.end(), "an entry in use exists");
    idle_.erase(&*found);
    in_use_ += found->second.users++ == 0 ? found->second.taken : 0;
    found->second.used_at = now;
}

void CacheIndex::leave(const CacheKey& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.users == 0) {
        return;
    }
    if (--found->second.users == 0) {
        in_use_ -= found->second.taken;
        idle_.insert(&*found);
    }
}

std::optional<SourceStamp> CacheIndex::learn(std::uint32_t uid,
                                             const SourceStamp& stamp,
                                             const Content& content) {
    const auto found = entries_.find({uid, content});
    invariant(found != entries_.end(), "the content of a known file exists");
    if (const auto before = find(uid, stamp)) {
        std::erase(entries_.at({uid, *before}).stamps, stamp);
        taken_ -= kNameTakes;
    }
    std::vector<SourceStamp>& stamps = found->second.stamps;
    stamps.push_back(stamp);
    taken_ += kNameTakes;
    stamps_[{uid, stamp}] = content;
    if (stamps.size() <= kStampsOfEntryMax) {
        return std::nullopt;
    }
    const SourceStamp oldest = stamps.front();
    stamps.erase(stamps.begin());
    taken_ -= kNameTakes;
    stamps_.erase({uid, oldest});
    return oldest;
}

std::vector<SourceStamp> CacheIndex::stamps_of(const CacheKey& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? std::vector<SourceStamp>{} : found->second.stamps;
}

std::optional<Content> CacheIndex::find(std::uint32_t uid, const SourceStamp& stamp) const {
    const auto found = stamps_.find({uid, stamp});
    return found == stamps_.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace stage
