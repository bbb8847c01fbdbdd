// Copies a staged file into the node cache without root reading the user's file.
//
// A separate process for each file, forked from the clean spawner, receives two descriptors,
// becomes a user without privileges, and copies from one to the other while hashing what it
// writes. If the user changes the file meanwhile, only the digest changes, and the copy is
// discarded. A file system that hangs (the user may have made it with FUSE) blocks only this
// process, whose time is limited. The same process is one end of a copy between nodes
// (sealed_copy.h): then one of its descriptors is a connection, and a job waits for it.
//
// The size of a file is only the user's claim until the file is read. So the copier asks for
// permission in steps, each when there are bytes to write: a false claim evicts no entries of
// other users. From a partial file it copies the blocks that match their note (part_copy.h).
//
//     to it:    way u8, size u64, key 16, nonce base 12, stamp 32, and the two descriptors;
//               1 u8, each time that it may write the bytes it asked for
//     from it:  2 u8 | bytes u64: it asks to write this many bytes in total; and last
//               0 u8 | content 48 (of a whole file it wrote; else zeros), or
//               1 u8 | error text
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

/// Sent as a number: append only.
enum class CopyWay : std::uint8_t {
    keep = 0,     ///< From a file to a file.
    send = 1,     ///< From a file to a connection.
    receive = 2,  ///< From a connection to a file.
    part = 3,     ///< From a partial file to a file.
};

struct CopyOrder {
    CopyWay way = CopyWay::keep;
    std::uint64_t size = 0;
    DirectionKey key{};   ///< For send and receive.
    SourceStamp stamp{};  ///< For part: the source file, of `size` bytes when it is complete.
};

/// The time limit of a copy: a minute, plus the time that 10 MB/s take.
[[nodiscard]] constexpr Duration copy_max(std::uint64_t size) {
    constexpr std::uint64_t kLeastBytesPerS = 10'000'000;
    return std::chrono::seconds{60 + size / kLeastBytesPerS};
}

/// Runs the copier: reads one request from `fd` and answers it as `uid` and `gid`, which own no
/// files. Returns the exit status.
[[nodiscard]] int run_cache_copier(int fd, uid_t uid, gid_t gid);

/// Copies `size` bytes, as a reflink where the file system can, and syncs them to the disk.
/// Fails if the file is not regular or is shorter than `size`. A file with holes is written out
/// instead, since its reflink would take hardly any space but count with its full length.
[[nodiscard]] Result<Content> copy_hashed(
    int from, int to, std::uint64_t size, const MayWrite& may_write = [](auto) {
        return true;
    });

/// Each request for permission covers less than twice what has been written, plus this much.
inline constexpr std::uint64_t kAllowanceMax = 64U << 20U;
/// Returns the total to ask for, of `size`, if the bytes before `end` are about to be written.
[[nodiscard]] std::uint64_t next_allowance(std::uint64_t end, std::uint64_t size);

[[nodiscard]] std::vector<std::byte> encode_copy_order(const CopyOrder& order);
/// The total that the copier asks to write; nothing if `message` is no such request.
[[nodiscard]] std::optional<std::uint64_t> decode_room_question(Bytes message);
/// Encodes the permission. The daemon refuses by closing the connection.
[[nodiscard]] std::vector<std::byte> encode_room_answer();
/// Decodes the copier's result.
[[nodiscard]] Result<Content> decode_copy_answer(Bytes answer);

}  // namespace stage
