// Stores the entries of the node cache on the disk, so that a crash leaves no partial entry.
//
//     CacheDir/UID/KEY.SUM   an entry: root's, mode 0400; both digests in hexadecimal
//     CacheDir/UID/s.STAMP   a symbolic link; its text names the entry with the file's content
//     CacheDir/UID/p.STAMP   the entry of a partial file
//     CacheDir/new.N         not an entry yet; removed at start
//
// CacheDir is accessible to root only (0700). An entry gets its name by a rename once all of it
// is on the disk, so every entry is complete; it is still compared with its SUM when it is used
// (the blocks of a partial file with its note, part_note.h). The store creates every name
// itself and leaves other names untouched. Every step is by descriptor.
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
    /// `directory`: CacheDir, a directory that belongs to root.
    explicit CacheStore(UniqueFd directory) : directory_{std::move(directory)} {}

    /// Returns the name of an entry of that directory, or of a user's directory in it, that no
    /// cache has put there; nothing if there is none. ("lost+found" is ignored.)
    [[nodiscard]] static std::optional<std::string> foreign_name_in(const UniqueFd& directory);

    /// Adds all entries and all known files to `index`; removes other files that have a name of
    /// the store's.
    void sweep(CacheIndex& index);

    struct Stored {
        CacheKey key;
        CacheIndex::Size size;
        std::int64_t used_at = 0;  ///< Seconds since 1970.
    };
    /// Lists all entries by user, and changes nothing.
    [[nodiscard]] std::vector<Stored> list() const;

    struct Draft {
        std::string name;
        UniqueFd file;  ///< Empty, to be written; mode 0400.
    };
    [[nodiscard]] Result<Draft> begin();
    void abandon(const Draft& draft);
    /// The draft's size now. For a partial file the length is the disk space taken, since the
    /// rest is holes.
    [[nodiscard]] static CacheIndex::Size size_of(const Draft& draft, bool is_part = false);
    /// Gives the draft its name, and replaces an entry of the same name.
    [[nodiscard]] Status publish(const Draft& draft, const CacheKey& key);

    /// Opens an entry for reading; returns an empty descriptor if it is gone.
    [[nodiscard]] UniqueFd open(const CacheKey& key) const;
    static void mark_used(const UniqueFd& entry);
    /// Removes the entry's names and returns the open file: closing it frees its space, for
    /// which a file system may take seconds.
    UniqueFd remove(const CacheKey& key);
    /// Removes as above, for a caller that knows the entry's `stamps`: nothing is searched.
    [[nodiscard]] UniqueFd remove(const CacheKey& key, const std::vector<SourceStamp>& stamps);
    void forget(std::uint32_t uid, const SourceStamp& stamp);
    void remember(std::uint32_t uid, const SourceStamp& stamp, const Content& content);

  private:
    [[nodiscard]] UniqueFd user_directory(std::uint32_t uid) const;
    void sweep_user(std::uint32_t uid, CacheIndex& index);

    UniqueFd directory_;
    std::uint64_t drafts_ = 0;
};

/// Formats "KEY.SUM", and parses it; each content has exactly one name.
[[nodiscard]] std::string entry_name(const Content& content);
[[nodiscard]] std::optional<Content> content_of_name(std::string_view name);

}  // namespace stage
