// Tracks the entries of the node cache, and chooses which ones are evicted (LRU).
//
// It is the index alone, without the disk. It has users' entries by content, and partial files
// by the source's stamp. For each it records the length, the disk space taken, the last use and
// the number of stages that use it now; it also records which file of a user had which content.
// The index never exceeds its quota or kEntriesMax: the least recently used entry is evicted
// first, and entries in use are never evicted.
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

/// The number of files that are known to have one content; the one that was learnt first is
/// forgotten first. (The limit keeps a user with many names for the same bytes from filling a
/// directory.)
inline constexpr std::size_t kStampsOfEntryMax = 64;

/// A large quota has room for more small files than a daemon should track.
inline constexpr std::size_t kEntriesMax = 1U << 17U;

/// The disk space of a name, besides the bytes of the file: an inode, or the block of a link's
/// text. So a million files of one byte each count as more than a million bytes.
inline constexpr std::uint64_t kNameTakes = 4096;

/// The disk space that an entry of `bytes` bytes takes at least: whole blocks, and its name.
[[nodiscard]] std::uint64_t least_taken(std::uint64_t bytes);

/// Names an entry. Entries are separate for each user.
struct CacheKey {
    std::uint32_t uid = 0;
    Content
        content;  ///< For a partial file the source's stamp is the key, and there is no sum.
    bool is_part = false;

    auto operator<=>(const CacheKey&) const = default;
};
/// The key of the partial file of this user's source file (part_note.h).
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
        std::uint64_t taken = 0;            ///< On the disk, without its stamps.
        std::int64_t used_at = 0;           ///< Seconds since 1970.
        std::uint32_t users = 0;            ///< The stages that use it now.
        std::vector<SourceStamp> stamps{};  ///< The files that have that content.
    };

    void set_quota(std::uint64_t bytes) { quota_ = bytes; }
    [[nodiscard]] std::uint64_t quota() const { return quota_; }
    /// The disk space of all entries, bytes.
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    [[nodiscard]] const std::map<CacheKey, Entry>& entries() const { return entries_; }

    /// Returns the entries to evict, in this order, so that `taken` more bytes fit; nothing if
    /// evictions cannot make enough room.
    [[nodiscard]] std::optional<std::vector<CacheKey>> room_for(std::uint64_t taken) const;
    /// True if `taken` more bytes would fit with all entries evicted that are not in use.
    [[nodiscard]] bool could_take(std::uint64_t taken) const;
    /// Reserves room that is about to be filled; unreserve() returns it.
    void reserve(std::uint64_t taken) { reserved_ += taken; }
    void unreserve(std::uint64_t taken) { reserved_ -= taken; }

    struct Size {
        std::uint64_t bytes = 0;
        std::uint64_t on_disk = 0;  ///< The file system's count, which may lag behind.
    };
    void put(const CacheKey& key, const Size& size, std::int64_t used_at);
    [[nodiscard]] bool has(const CacheKey& key) const { return entries_.contains(key); }
    [[nodiscard]] std::uint64_t bytes_of(const CacheKey& key) const;
    /// Removes the entry and its stamps. Ignores unknown keys.
    void remove(const CacheKey& key);

    /// A stage uses the entry until leave(). Requires has(key).
    void use(const CacheKey& key, std::int64_t now);
    /// Ignored if the entry is gone.
    void leave(const CacheKey& key);

    /// Records that this user's file has that content. Requires that the entry exists. Returns
    /// the file that is forgotten in exchange, if any.
    [[nodiscard]] std::optional<SourceStamp> learn(std::uint32_t uid,
                                                   const SourceStamp& stamp,
                                                   const Content& content);
    /// The files that are known to have that content.
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
    std::set<const Node*, Older> idle_;  ///< The entries that no stage uses.
    std::map<std::pair<std::uint32_t, SourceStamp>, Content> stamps_;
    std::uint64_t quota_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t in_use_ = 0;
    std::uint64_t reserved_ = 0;
};

}  // namespace stage
