#include "stager/cache/shelf.h"

#include "transport/base/invariant.h"

#include <algorithm>

namespace stage {

std::optional<std::vector<ShelfKey>> Shelf::room_for(std::uint64_t bytes) const {
    if (bytes > quota_) {
        return std::nullopt;
    }
    std::vector<std::pair<std::int64_t, ShelfKey>> idle;
    for (const auto& [key, entry] : entries_) {
        if (entry.users == 0) {
            idle.emplace_back(entry.used_at, key);
        }
    }
    std::ranges::sort(idle);
    std::uint64_t taken = bytes_ + reserved_;
    std::vector<ShelfKey> gone;
    for (const auto& [used_at, key] : idle) {
        if (taken + bytes <= quota_) {
            break;
        }
        taken -= entries_.at(key).bytes;
        gone.push_back(key);
    }
    return taken + bytes <= quota_ ? std::optional{std::move(gone)} : std::nullopt;
}

void Shelf::put(const ShelfKey& key, std::uint64_t bytes, std::int64_t used_at) {
    remove(key);
    entries_[key] = {.bytes = bytes, .used_at = used_at};
    bytes_ += bytes;
}

std::uint64_t Shelf::bytes_of(const ShelfKey& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? 0 : found->second.bytes;
}

void Shelf::remove(const ShelfKey& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
        return;
    }
    bytes_ -= found->second.bytes;
    for (const SourceStamp& stamp : found->second.stamps) {
        stamps_.erase({key.uid, stamp});
    }
    entries_.erase(found);
}

void Shelf::use(const ShelfKey& key, std::int64_t now) {
    const auto found = entries_.find(key);
    invariant(found != entries_.end(), "what is used is here");
    ++found->second.users;
    found->second.used_at = now;
}

void Shelf::leave(const ShelfKey& key) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.users > 0) {
        --found->second.users;
    }
}

std::optional<SourceStamp> Shelf::learn(std::uint32_t uid,
                                        const SourceStamp& stamp,
                                        const Content& content) {
    const auto found = entries_.find({uid, content});
    invariant(found != entries_.end(), "what is known of a file is here");
    if (const auto before = find(uid, stamp)) {
        std::erase(entries_.at({uid, *before}).stamps, stamp);
    }
    std::vector<SourceStamp>& stamps = found->second.stamps;
    stamps.push_back(stamp);
    stamps_[{uid, stamp}] = content;
    if (stamps.size() <= kStampsOfEntryMax) {
        return std::nullopt;
    }
    const SourceStamp oldest = stamps.front();
    stamps.erase(stamps.begin());
    stamps_.erase({uid, oldest});
    return oldest;
}

std::vector<SourceStamp> Shelf::stamps_of(const ShelfKey& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? std::vector<SourceStamp>{} : found->second.stamps;
}

std::optional<Content> Shelf::find(std::uint32_t uid, const SourceStamp& stamp) const {
    const auto found = stamps_.find({uid, stamp});
    return found == stamps_.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace stage
