#include "stager/cache/part_copy.h"

#include "stager/disk/disk_io.h"
#include "stager/disk/drop_behind.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace stage {
namespace {

Error not_written() {
    return Error::from_errno(Blame::node, "writing the copy");
}

bool is_regular(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

/// Copies the valid blocks. Their digests remain in `leaves`, the others are cleared. Returns
/// the number of bytes copied.
Result<std::uint64_t> copy_blocks(int from,
                                  int to,
                                  std::uint64_t size,
                                  std::vector<Digest128>& leaves,
                                  const MayWrite& may_write) {
    std::vector<std::byte> room(kBlockBytes);
    DropBehind behind{0};
    std::uint64_t copied = 0;
    for (std::size_t block = 0; block < leaves.size(); ++block) {
        const std::uint64_t at = std::uint64_t{block} * kBlockBytes;
        const MutableBytes bytes = MutableBytes{room}.first(
            static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBytes, size - at)));
        const bool is_here =
            leaves[block] != Digest128{} &&
            read_fully(from, bytes, at) == static_cast<std::int64_t>(bytes.size()) &&
            xxh3_128(bytes) == leaves[block];
        if (!is_here) {
            leaves[block] = {};
            continue;
        }
        copied += bytes.size();
        if (!may_write(copied)) {
            return no_room();
        }
        if (!write_fully(to, bytes, at)) {
            return not_written();
        }
        behind.wrote(to, at, bytes.size());
    }
    return copied;
}

}  // namespace

Status copy_part(int from, int to, const PartOf& what, const MayWrite& may_write) {
    const auto note = what.size > 0 && what.size <= kPartOfMax && is_regular(from)
                          ? read_note(from, what.stamp, what.size)
                          : std::nullopt;
    if (!note) {
        return Error{Blame::user, "the partial file has no valid note of its blocks"};
    }
    std::vector<Digest128> leaves = *note;
    TRY(const auto copied, copy_blocks(from, to, what.size, leaves, may_write));
    if (copied == 0) {
        return Error{Blame::user, "the partial file has no valid block"};
    }
    if (!may_write(copied + note_bytes(what.size))) {
        return no_room();
    }
    const bool is_written =
        write_fully(to, encode_note(what.stamp, what.size, leaves), what.size) &&
        ::fdatasync(to) == 0;
    return is_written ? Status{} : Status{not_written()};
}

}  // namespace stage
