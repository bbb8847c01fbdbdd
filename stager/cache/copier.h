// How does a staged file get into the cache without root reading it?
//
// A process of its own for each file, forked from the clean spawner: it is given two
// descriptors, becomes a user without rights, and copies from one to the other, hashing what it
// writes. What a user does to the file meanwhile changes at worst the digest, and then the copy
// is thrown away. A file system that hangs (FUSE is the user's) hangs nobody but this process,
// whose time is limited. The same process is one end of a copy from node to node
// (sealed_copy.h): then one of its descriptors is a connection, and a job waits for it.
//
// How large a file is only its user says until it is read. So what is written is asked for a
// stretch at a time, once there is something to write: whoever claims much sends nobody's
// entries away. Of a file that was broken off it copies the blocks that are what its note says
// (part_copy.h).
//
//     to it:    way u8, size u64, key 16, nonce base 12, stamp 32; beside it from where and to
//               where;
//               1 u8, each time that it may write so many
//     from it:  2 u8 | bytes u64, that it may write so many in all; and last
//               0 u8 | content 48 (of a whole file it wrote; else zeros) or 1 u8 | sentence
//               text
#pragma once

#include "stager/cache/sealed_copy.h"
#include "stager/content/content.h"
#include "stager/content/source_stamp.h"
#include "stager/link/frame_seal.h"
#include "transport/base/result.h"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

namespace stage {

/// Travels by number: append only.
enum class CopyWay : std::uint8_t {
    keep = 0,     ///< From a file to a file.
    send = 1,     ///< From a file to a connection.
    receive = 2,  ///< From a connection to a file.
    part = 3,     ///< From a file to a file: what came of it.
};

struct CopyOrder {
    CopyWay way = CopyWay::keep;
    std::uint64_t size = 0;
    DirectionKey key{};   ///< Of send and receive.
    SourceStamp stamp{};  ///< Of part: of which file, as long as `size` when it is whole.
};

/// How long it may take: a minute, and as long as 10 MB/s take.
[[nodiscard]] constexpr Duration copy_max(std::uint64_t size) {
    constexpr std::uint64_t kLeastBytesPerS = 10'000'000;
    return std::chrono::seconds{60 + size / kLeastBytesPerS};
}

/// The role: one request from `fd`, one answer, as `uid` and `gid`, whom nothing
/// belongs. Its exit status.
[[nodiscard]] int run_cache_copier(int fd, uid_t uid, gid_t gid);

/// Copies `size` bytes, as a reflink where the file system can, and makes sure that they are on
/// the disk. Fails on a file that is not regular or has not so many. A reflink with holes would
/// take next to nothing and count as much as it says: such a file is written out.
[[nodiscard]] Result<Content> copy_hashed(
    int from, int to, std::uint64_t size, const MayWrite& may_write = [](auto) {
        return true;
    });

/// The stretches grow with what has been written: what is asked for is less than twice that,
/// and this much more.
inline constexpr std::uint64_t kStretchMax = 64U << 20U;
/// What to ask for, of `size`, where all before `end` is about to be written.
[[nodiscard]] std::uint64_t next_stretch(std::uint64_t end, std::uint64_t size);

[[nodiscard]] std::vector<std::byte> encode_copy_order(const CopyOrder& order);
/// What it wants to write, in all, if that is what it says.
[[nodiscard]] std::optional<std::uint64_t> decode_room_question(Bytes message);
/// Yes. No is to hang up.
[[nodiscard]] std::vector<std::byte> encode_room_answer();
/// What it says of its work.
[[nodiscard]] Result<Content> decode_copy_answer(Bytes answer);

}  // namespace stage
