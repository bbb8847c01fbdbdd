// How does a staged file get into the cache without root reading it?
//
// A process of its own for each file, forked from the clean spawner: it is given two
// descriptors, becomes nobody, and copies from one to the other, hashing what it writes. What a
// user does to the file meanwhile changes at worst the digest, and then the copy is thrown
// away. A file system that hangs (FUSE is the user's) hangs nobody but this process, whose time
// is limited.
//
//     to it:    size u64, beside it the file and where its copy goes (close-on-exec, both open)
//     from it:  0 u8 | content 48        or        1 u8 | sentence text
#pragma once

#include "stager/cache/content.h"
#include "transport/base/result.h"

#include <vector>

namespace stage {

/// The role: one request from `fd`, one answer. Its exit status.
[[nodiscard]] int run_cache_copier(int fd);

/// Copies `size` bytes, as a reflink where the file system can, and makes sure that they are on
/// the disk. Fails on a file that is not regular or has not so many.
[[nodiscard]] Result<Content> copy_hashed(int from, int to, std::uint64_t size);

[[nodiscard]] std::vector<std::byte> encode_copy_request(std::uint64_t size);
/// What it says of its work.
[[nodiscard]] Result<Content> decode_copy_answer(Bytes answer);

}  // namespace stage
