// Records which blocks of a partial file are present, so that a later stage can resume it.
//
// A partial file holds the received bytes of a file, each at its offset, and behind them a note
// that describes them. The note is in the same file so that the two cannot be separated.
//
//     note:  "stagecast part 1" (16) | stamp 32 | size u64 | leaf 16 of each block (0: not
//     here)
//
// The note is not trusted: its stamp must match the source's file, and each block is read and
// compared with its leaf digest before it counts as present. So the note needs no fsync and
// survives a crash in any state. Only the file's owner can forge it, to that user's own
// disadvantage.
#pragma once

#include "stager/content/source_stamp.h"
#include "transport/base/checksum.h"

#include <optional>
#include <vector>

namespace stage {

/// Shorter files are sent so quickly that they are not worth resuming.
inline constexpr std::uint64_t kPartOfMin = std::uint64_t{8} << 20U;
/// Longer files are not resumed: a forged size would have a note of any length read.
inline constexpr std::uint64_t kPartOfMax = std::uint64_t{4} << 40U;

[[nodiscard]] std::size_t part_block_count(std::uint64_t size);
/// The length of the note of a file of that size.
[[nodiscard]] std::uint64_t note_bytes(std::uint64_t size);
/// The offset of that block's leaf digest in the note.
[[nodiscard]] std::uint64_t note_offset_of(std::size_t block);

[[nodiscard]] std::vector<std::byte> encode_note(const SourceStamp& stamp,
                                                 std::uint64_t size,
                                                 const std::vector<Digest128>& leaves);
/// Returns the leaf digests in a note about that file; nothing if `bytes` are no note, or a
/// note about another file.
[[nodiscard]] std::optional<std::vector<Digest128>> decode_note(Bytes bytes,
                                                                const SourceStamp& stamp,
                                                                std::uint64_t size);
/// Decodes the note in `file`. It takes as much memory as the note, so the caller must limit a
/// `size` that it received from elsewhere.
[[nodiscard]] std::optional<std::vector<Digest128>> read_note(int file,
                                                              const SourceStamp& stamp,
                                                              std::uint64_t size);

}  // namespace stage
