// The interface of what a source sends as one entry of a manifest.
//
// It is a file or a directory tree: both have a description, bytes at offsets (a tree's index,
// then its data), and a record of their state when they were opened.
#pragma once

#include "stager/content/source_stamp.h"
#include "stager/files/manifest/manifest.h"
#include "stager/files/source/held_members.h"
#include "stager/files/source/tree_choice.h"
#include "transport/os/unique_fd.h"

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace stage {

/// Identifies a file, whatever its names.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileIdentity&) const = default;
};

[[nodiscard]] FileIdentity identity_of(const struct stat& status);
[[nodiscard]] FileTime mtime_of(const struct stat& status);
/// True if a copy with the time `there` is no older than its source. Where the copy's file
/// system keeps whole seconds only, the source's count.
[[nodiscard]] bool is_no_older(const FileTime& there, const FileTime& source);
/// The visible state of a file that another process may be writing.
struct FileState {
    mode_t mode = 0;
    std::uint64_t size = 0;
    FileTime mtime{};
    std::uint64_t inode = 0;
};
/// Returns the state of an open file. A network file system may answer from its cache, for
/// seconds: `is_asked_anew` makes it ask its server. Returns nothing, with errno, if the state
/// is not available.
[[nodiscard]] std::optional<FileState> state_of(int fd, bool is_asked_anew);
/// Formats "a directory", "a pipe".
[[nodiscard]] std::string_view kind_in_words(mode_t mode);

class SourceItem {
  public:
    SourceItem(const SourceItem&) = delete;
    SourceItem& operator=(const SourceItem&) = delete;
    virtual ~SourceItem() = default;

    /// Fills an entry for the manifest; the caller sets spec, line and first block.
    [[nodiscard]] virtual ManifestEntry describe() const = 0;
    [[nodiscard]] virtual FileIdentity identity() const = 0;
    /// Identifies it for a later stage; nothing if that is not possible.
    [[nodiscard]] virtual std::optional<SourceStamp> stamp() const { return std::nullopt; }
    /// What a user may miss in the copy, in words; empty: nothing.
    [[nodiscard]] virtual std::string remarks() const { return {}; }
    /// The directories that contain it, as far as they can be read.
    [[nodiscard]] virtual std::vector<FileIdentity> above() const = 0;

    /// Keeps the first `room` bytes in memory; pages after them are dropped after reading.
    virtual void keep_pages(std::uint64_t /*room*/) {}

    /// Closes its descriptors, for one of very many items that is not being read. read() opens
    /// them again.
    virtual void rest() {}

    /// Fills `room` from `offset`. A changed file is an error.
    [[nodiscard]] virtual Status read(std::uint64_t offset, MutableBytes room) = 0;
    /// After the last byte was read: checks that the item has not changed.
    [[nodiscard]] virtual Status unchanged() = 0;
    /// The error for a caller that finds these bytes changed.
    [[nodiscard]] virtual Error changed_error(std::uint64_t offset, std::size_t length) = 0;

  protected:
    SourceItem() = default;
    SourceItem(SourceItem&&) = default;
    SourceItem& operator=(SourceItem&&) = default;
};

/// The identities of an open directory and of all directories above it.
[[nodiscard]] std::vector<FileIdentity> directories_from(UniqueFd at);

/// Fails if a file whose size is reported as 0, now as before, has bytes, as in /proc, or
/// cannot be read.
[[nodiscard]] Status check_really_empty(int file, const std::string& path);

/// The error "PATH: changed while it was read". A member of a tree can be left out.
[[nodiscard]] Error changed_while_read(const std::string& path, bool is_member = false);

/// Opens the file or directory at the absolute `path`, with the caller's rights and through
/// symbolic links, since the user named it; anything else is refused with an error, unopened.
/// `is_plain`: only the bytes of a file, with zeros for holes. A tree takes of `room`.
[[nodiscard]] Result<std::unique_ptr<SourceItem>> open_source(const std::string& path,
                                                              bool is_plain,
                                                              const TreeChoice& choice,
                                                              HeldRoom& room);

}  // namespace stage
