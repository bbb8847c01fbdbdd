// Copies the usable blocks of a partial file into the node cache.
//
// It copies the blocks that the note lists (part_note.h) and that match their digest; the rest
// remains a hole, so the copy takes only the disk space of the received blocks. The user may
// change the file at any time: each block is compared after it has been read.
#pragma once

#include "stager/cache/sealed_copy.h"
#include "stager/content/part_note.h"
#include "transport/base/result.h"

namespace stage {

/// Identifies the source file of a partial file, and its full length.
struct PartOf {
    SourceStamp stamp{};
    std::uint64_t size = 0;
};

/// The length of the partial file with its note, and the most space that it takes.
[[nodiscard]] inline std::uint64_t part_bytes_max(std::uint64_t size) {
    return size + note_bytes(size);
}

/// Writes the blocks and a note about them to the empty file `to`, and syncs it. Calls
/// `may_write` with the number of bytes written, wherever they go. Fails if no block is usable,
/// or `from` is no partial file of `what`.
[[nodiscard]] Status copy_part(int from, int to, const PartOf& what, const MayWrite& may_write);

}  // namespace stage
