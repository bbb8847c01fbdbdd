// What does one file say, and is it still the file that we began to read?
//
// Opened with the caller's own rights, through symbolic links: the user named it. Only regular
// files: a directory, a device or a pipe is answered with a sentence, without being opened.
#pragma once

#include "stager/files/manifest.h"
#include "transport/base/unique_fd.h"

#include <sys/stat.h>

namespace stage {

/// Which file, whatever its names.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileIdentity&) const = default;
};

[[nodiscard]] FileIdentity identity_of(const struct stat& status);
[[nodiscard]] FileTime mtime_of(const struct stat& status);

class SourceFile {
  public:
    /// Opens `path`, absolute, for reading and remembers inode, size and mtime.
    [[nodiscard]] static Result<SourceFile> open(std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] FileIdentity identity() const { return identity_; }
    /// The file as a manifest tells of it; spec and first block are the caller's to fill.
    [[nodiscard]] ManifestEntry describe() const;

    /// Fills `room` from `offset`. A file that has become shorter is an error.
    [[nodiscard]] Status read(std::uint64_t offset, MutableBytes room) const;

    /// Size and mtime are what they were at open().
    [[nodiscard]] Status unchanged() const;

    /// What everyone says who finds it different.
    [[nodiscard]] Error changed_error() const;

  private:
    SourceFile(std::string path, UniqueFd fd, const struct stat& status);

    std::string path_;
    UniqueFd fd_;
    FileIdentity identity_;
    std::uint64_t size_;
    FileTime mtime_;
    std::uint16_t mode_;
    std::uint32_t uid_;
    std::uint32_t gid_;
};

}  // namespace stage
