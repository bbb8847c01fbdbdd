// What can be sent as one entry of a manifest?
//
// A file or a directory tree: both have a description, bytes at offsets (a tree's index, then
// its data), and a memory of what they were when they were opened.
#pragma once

#include "stager/content/source_stamp.h"
#include "stager/files/manifest/manifest.h"
#include "transport/os/unique_fd.h"

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace stage {

/// Which file, whatever its names.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileIdentity&) const = default;
};

[[nodiscard]] FileIdentity identity_of(const struct stat& status);
[[nodiscard]] FileTime mtime_of(const struct stat& status);
/// What can be seen of a file that somebody writes to.
struct FileState {
    mode_t mode = 0;
    std::uint64_t size = 0;
    FileTime mtime{};
};
/// Of an open one. A network file system may answer from what it remembers, for seconds:
/// `is_asked_anew` asks who keeps the file. Nothing and errno where that can't be said.
[[nodiscard]] std::optional<FileState> state_of(int fd, bool is_asked_anew);
/// "a directory", "a pipe".
[[nodiscard]] std::string_view kind_in_words(mode_t mode);

class SourceItem {
  public:
    SourceItem(const SourceItem&) = delete;
    SourceItem& operator=(const SourceItem&) = delete;
    virtual ~SourceItem() = default;

    /// As a manifest tells of it; spec, line and first block are the caller's to fill.
    [[nodiscard]] virtual ManifestEntry describe() const = 0;
    [[nodiscard]] virtual FileIdentity identity() const = 0;
    /// By which a later stage may know it again; nothing for what can't be.
    [[nodiscard]] virtual std::optional<SourceStamp> stamp() const { return std::nullopt; }
    /// The directories that it lies in, as far as they can be seen.
    [[nodiscard]] virtual std::vector<FileIdentity> above() const = 0;

    /// What is behind so many of its first bytes is let go from memory as it is read.
    virtual void keep_pages(std::uint64_t /*room*/) {}

    /// One of very many, and not the one that is read: closes what it has open. read() opens
    /// that again.
    virtual void rest() {}

    /// Fills `room` from `offset`. What has changed is an error.
    [[nodiscard]] virtual Status read(std::uint64_t offset, MutableBytes room) = 0;
    /// Every byte was read: is it still what it was?
    [[nodiscard]] virtual Status unchanged() = 0;
    /// What everyone says who finds these bytes different.
    [[nodiscard]] virtual Error changed_error(std::uint64_t offset, std::size_t length) = 0;

  protected:
    SourceItem() = default;
    SourceItem(SourceItem&&) = default;
    SourceItem& operator=(SourceItem&&) = default;
};

/// An open directory and those that it lies in, upwards.
[[nodiscard]] std::vector<FileIdentity> directories_from(UniqueFd at);

/// Fails if the file that says its size is 0 has bytes, as those of /proc, or can't be read.
[[nodiscard]] Status check_really_empty(int file, const std::string& path);

/// "PATH: changed while it was read".
[[nodiscard]] Error changed_while_read(const std::string& path);

/// Opens what `path`, absolute, names, with the caller's rights and through symbolic links: the
/// user named it. A file or a directory; anything else is answered with a sentence, unopened.
/// `is_plain`: of a file nothing but its bytes, with zeros for holes. `is_ownerless`: of a tree
/// no owners, ACLs and set-id bits.
[[nodiscard]] Result<std::unique_ptr<SourceItem>> open_source(const std::string& path,
                                                              bool is_plain,
                                                              bool is_ownerless);

}  // namespace stage
