// What of a file that was broken off is worth keeping?
//
// The blocks that its note tells of (part_note.h) and that are what it tells; the rest stays a
// hole. So a part takes of the disk what had come. The file may be its user's to change even
// now: what is kept was compared after it was read.
#pragma once

#include "stager/cache/sealed_copy.h"
#include "stager/content/part_note.h"
#include "transport/base/result.h"

namespace stage {

/// Which file it is a part of, and how long that is.
struct PartOf {
    SourceStamp stamp{};
    std::uint64_t size = 0;
};

/// What one takes, and how long it is, with its note.
[[nodiscard]] inline std::uint64_t part_bytes_max(std::uint64_t size) {
    return size + note_bytes(size);
}

/// Writes them and a note of them to the empty file `to`, and makes sure that they are on the
/// disk. Asks `may_write` for as many bytes as it writes, wherever they go. Fails if nothing
/// had come, or `from` is no such part.
[[nodiscard]] Status copy_part(int from, int to, const PartOf& what, const MayWrite& may_write);

}  // namespace stage
