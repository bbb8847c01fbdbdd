// Reads and writes whole ranges of a file, however many system calls that takes.
//
// pread(2) and pwrite(2) are repeated after an interruption or a short transfer.
#pragma once

#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <cstdint>

namespace stage {

/// Reads until `room` is full or the file ends. Returns the bytes read, or -1 with errno.
[[nodiscard]] std::int64_t read_fully(int fd, MutableBytes room, std::uint64_t offset);

/// Writes all of `bytes`. Returns false, with errno, if that fails.
[[nodiscard]] bool write_fully(int fd, Bytes bytes, std::uint64_t offset);

/// Closes a file that was written, if `file` is one. Returns false, with errno, if that fails:
/// only close(2) reports what NFS, AFS and FUSE could not store.
[[nodiscard]] bool close_written(UniqueFd& file);

/// Returns true if the two files have equal bytes up to `size`. Where the bytes differ, errno
/// is 0; otherwise errno says why a file could not be read.
[[nodiscard]] bool has_same_bytes(int one, int other, std::uint64_t size);

/// True if `fd` is a regular file of this size.
[[nodiscard]] bool has_size(int fd, std::uint64_t bytes);

/// Sets the length of the empty file and allocates its space, so that a full disk is noticed
/// before the first byte arrives. On a file system in memory nothing is allocated: that would
/// keep the disk thread busy for 0.3 s per GB while blocks arrive, and would not place them any
/// better. Returns 0, or the errno.
[[nodiscard]] int take_room(int fd, std::uint64_t bytes);

}  // namespace stage
