// Where do the cache's entries lie, so that no crash leaves half of one?
//
//     CacheDir/UID/KEY.SUM   an entry: root's, mode 0400; both digests in hexadecimal
//     CacheDir/UID/s.STAMP   a symbolic link: its text is the entry that the file is
//     CacheDir/UID/p.STAMP   an entry, too: what came of a file that was broken off
//     CacheDir/new.N         not an entry yet; swept at start
//
// CacheDir is root's alone (0700). An entry gets its name by a rename once all of it is on the
// disk, so whatever has a name is whole; who takes it compares it with its SUM all the same
// (a part's blocks with its note, part_note.h).
// Every name is made by us, and what has another is not touched; every step is by descriptor.
#pragma once

#include "stager/cache/cache_index.h"
#include "transport/base/result.h"
#include "transport/os/unique_fd.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

class CacheStore {
  public:
    /// `directory`: CacheDir, a directory of root's.
    explicit CacheStore(UniqueFd directory) : directory_{std::move(directory)} {}

    /// The name of something in that directory, or in a user's of it, that no cache has put
    /// there; nothing if all is the cache's. ("lost+found" is nobody's.)
    [[nodiscard]] static std::optional<std::string> stranger_in(const UniqueFd& directory);

    /// Puts all entries and what is known of files onto `shelf`; removes what else has a name
    /// of ours.
    void sweep(CacheIndex& shelf);

    struct Stored {
        CacheKey key;
        CacheIndex::Size size;
        std::int64_t used_at = 0;  ///< Seconds since 1970.
    };
    /// All entries, by user; nothing is changed.
    [[nodiscard]] std::vector<Stored> list() const;

    struct Draft {
        std::string name;
        UniqueFd file;  ///< Empty, to be written; mode 0400.
    };
    [[nodiscard]] Result<Draft> begin();
    void abandon(const Draft& draft);
    /// What it takes now. A part is as long as what it takes of the disk: the rest is holes.
    [[nodiscard]] static CacheIndex::Size size_of(const Draft& draft, bool is_part = false);
    /// In the place of one that has that name.
    [[nodiscard]] Status publish(const Draft& draft, const CacheKey& key);

    /// For reading; nothing if it has gone.
    [[nodiscard]] UniqueFd open(const CacheKey& key) const;
    static void mark_used(const UniqueFd& entry);
    /// Gives the file without a name: closing it frees its room, for which a file system may
    /// take seconds.
    UniqueFd remove(const CacheKey& key);
    /// As that, for who knows which files it is known of: nothing is searched.
    [[nodiscard]] UniqueFd remove(const CacheKey& key, const std::vector<SourceStamp>& stamps);
    void forget(std::uint32_t uid, const SourceStamp& stamp);
    void remember(std::uint32_t uid, const SourceStamp& stamp, const Content& content);

  private:
    [[nodiscard]] UniqueFd user_directory(std::uint32_t uid) const;
    void sweep_user(std::uint32_t uid, CacheIndex& shelf);

    UniqueFd directory_;
    std::uint64_t drafts_ = 0;
};

/// "KEY.SUM", and back: of all names one.
[[nodiscard]] std::string entry_name(const Content& content);
[[nodiscard]] std::optional<Content> content_of_name(std::string_view name);

}  // namespace stage
