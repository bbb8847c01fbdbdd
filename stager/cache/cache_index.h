// What does the node's cache hold, and what has to go?
//
// The index alone, no disk: entries of users by content, and parts of files by the file's
// stamp; how long each is and what it takes of the disk, when it was used last, how many stages
// use it now; and which file of a user had which content. Never more than its quota, nor than
// kEntriesMax: what was not used for the longest time goes first, what is in use stays.
#pragma once

#include "stager/content/content.h"
#include "stager/content/source_stamp.h"
#include "transport/base/units.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace stage {

/// Files that are known to have one content; the one that was learnt first is forgotten first.
/// (Whoever keeps the same bytes under ever new names fills no directory.)
inline constexpr std::size_t kStampsOfEntryMax = 64;

/// Of small files a large quota has room for more than a daemon should remember.
inline constexpr std::size_t kEntriesMax = 1U << 17U;

/// What of a disk a name takes, beside the bytes: an inode, and a link's text its own block. So
/// a million files of a byte each are not a million bytes.
inline constexpr std::uint64_t kNameTakes = 4096;

/// What an entry of so many bytes takes at the least: whole blocks, and its name.
[[nodiscard]] std::uint64_t least_taken(std::uint64_t bytes);

/// Nobody sees another user's entries.
struct CacheKey {
    std::uint32_t uid = 0;
    Content content;  ///< Of a part: the file's stamp is its key, and there is no sum.
    bool is_part = false;

    auto operator<=>(const CacheKey&) const = default;
};
/// What came of this user's file (part_note.h).
[[nodiscard]] inline CacheKey part_of(std::uint32_t uid, const SourceStamp& stamp) {
    return {.uid = uid, .content = {.key = stamp, .sum = {}}, .is_part = true};
}

class CacheIndex {
  public:
    CacheIndex() = default;
    CacheIndex(const CacheIndex&) = delete;
    CacheIndex& operator=(const CacheIndex&) = delete;
    ~CacheIndex() = default;

    struct Entry {
        std::uint64_t bytes = 0;            ///< Its length.
        std::uint64_t taken = 0;            ///< Of the disk, without what its stamps take.
        std::int64_t used_at = 0;           ///< Seconds since 1970.
        std::uint32_t users = 0;            ///< Stages.
        std::vector<SourceStamp> stamps{};  ///< Of files that have that content.
    };

    void set_quota(std::uint64_t bytes) { quota_ = bytes; }
    [[nodiscard]] std::uint64_t quota() const { return quota_; }
    /// Of the disk.
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    [[nodiscard]] const std::map<CacheKey, Entry>& entries() const { return entries_; }

    /// Whether `taken` more would fit once these have gone, in this order; nothing if they
    /// can't.
    [[nodiscard]] std::optional<std::vector<CacheKey>> room_for(std::uint64_t taken) const;
    /// Whether they would if nothing that is in use went, and nothing else came.
    [[nodiscard]] bool could_take(std::uint64_t taken) const;
    /// Room that somebody is about to fill, or has not filled after all.
    void reserve(std::uint64_t taken) { reserved_ += taken; }
    void unreserve(std::uint64_t taken) { reserved_ -= taken; }

    struct Size {
        std::uint64_t bytes = 0;
        std::uint64_t on_disk = 0;  ///< As the file system counts; it may not know yet.
    };
    void put(const CacheKey& key, const Size& size, std::int64_t used_at);
    [[nodiscard]] bool has(const CacheKey& key) const { return entries_.contains(key); }
    [[nodiscard]] std::uint64_t bytes_of(const CacheKey& key) const;
    /// With all that is known of it. Unknown ones are ignored.
    void remove(const CacheKey& key);

    /// A stage uses it from now on, until it leaves it. Requires has(key).
    void use(const CacheKey& key, std::int64_t now);
    /// Ignored if the entry has gone.
    void leave(const CacheKey& key);

    /// This user's file has that content. Requires that the entry is here. The file that is
    /// forgotten for it, if any is.
    [[nodiscard]] std::optional<SourceStamp> learn(std::uint32_t uid,
                                                   const SourceStamp& stamp,
                                                   const Content& content);
    /// Of which files that content is known.
    [[nodiscard]] std::vector<SourceStamp> stamps_of(const CacheKey& key) const;
    [[nodiscard]] std::optional<Content> find(std::uint32_t uid,
                                              const SourceStamp& stamp) const;

  private:
    using Node = std::map<CacheKey, Entry>::value_type;
    struct Older {
        bool operator()(const Node* one, const Node* other) const;
    };

    [[nodiscard]] static std::uint64_t all_of(const Entry& entry);

    std::map<CacheKey, Entry> entries_;
    std::set<const Node*, Older> idle_;  ///< Those that nobody uses.
    std::map<std::pair<std::uint32_t, SourceStamp>, Content> stamps_;
    std::uint64_t quota_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t in_use_ = 0;
    std::uint64_t reserved_ = 0;
};

}  // namespace stage
