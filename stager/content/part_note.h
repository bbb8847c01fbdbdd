// What of a file is here, where not all of it is?
//
// A part holds the file's bytes that came, each in its place, and behind them a note of what
// they are. Behind, and not in a file of its own, so that the two can't be parted.
//
//     note:  "stagecast part 1" (16) | stamp 32 | size u64 | leaf 16 of each block (0: not
//     here)
//
// Nothing of it is believed: the stamp must be that of the source's file now, and each block is
// read and compared with its leaf before it counts as here. So it needs no fsync, a crash may
// leave anything, and who forges it (its owner only can) fools himself.
#pragma once

#include "stager/content/source_stamp.h"
#include "transport/base/checksum.h"

#include <optional>
#include <vector>

namespace stage {

/// Shorter files are sent in a moment: nothing is kept of them.
inline constexpr std::uint64_t kPartOfMin = std::uint64_t{8} << 20U;
/// Nor of longer ones: who made such a length up would have a note of any length read.
inline constexpr std::uint64_t kPartOfMax = std::uint64_t{4} << 40U;

[[nodiscard]] std::size_t part_block_count(std::uint64_t size);
/// What the note of a file of that size takes.
[[nodiscard]] std::uint64_t note_bytes(std::uint64_t size);
/// Where in it the leaf of that block stands.
[[nodiscard]] std::uint64_t note_offset_of(std::size_t block);

[[nodiscard]] std::vector<std::byte> encode_note(const SourceStamp& stamp,
                                                 std::uint64_t size,
                                                 const std::vector<Digest128>& leaves);
/// The leaves in a note about that file. Nothing if it is none, or about another one.
[[nodiscard]] std::optional<std::vector<Digest128>> decode_note(Bytes bytes,
                                                                const SourceStamp& stamp,
                                                                std::uint64_t size);
/// The same of the note in `file`. Takes as much memory: who was only told `size` bounds it.
[[nodiscard]] std::optional<std::vector<Digest128>> read_note(int file,
                                                              const SourceStamp& stamp,
                                                              std::uint64_t size);

}  // namespace stage
