// What came of a file before its staging was broken off?
//
// It stays beside the destination, as ".NAME.stagecast.part": the file's bytes, each in its
// place, and behind them a note of what they are. Behind, and not in a file of its own, so that
// the two can't be parted.
//
//     note:  "stagecast part 1" (16) | stamp 32 | size u64 | leaf 16 of each block (0: not
//     here)
//
// Nothing of it is believed: the stamp must be that of the source's file now, and each block is
// read and compared with its leaf before it counts as here. So it needs no fsync, a crash may
// leave anything, and who forges it (its owner only can) fools himself.
#pragma once

#include "stager/cache/source_stamp.h"
#include "transport/base/checksum.h"
#include "transport/base/result.h"
#include "transport/base/unique_fd.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

/// NAME is cut where it would be too long for a file system.
[[nodiscard]] std::string partial_name(const std::string& name);

/// `directory`'s file of that name for reading and writing, locked: one that this user has made
/// so, and nobody is at work on. Nothing else is opened.
[[nodiscard]] UniqueFd open_partial(int directory, const std::string& partial);

/// Such a file goes. What isn't one stays.
void remove_partial(int directory, const std::string& partial);

[[nodiscard]] std::vector<std::byte> encode_note(const SourceStamp& stamp,
                                                 std::uint64_t size,
                                                 const std::vector<Digest128>& leaves);
/// The leaves in a note about that file. Nothing if it is none, or about another one.
[[nodiscard]] std::optional<std::vector<Digest128>> decode_note(Bytes bytes,
                                                                const SourceStamp& stamp,
                                                                std::uint64_t size);

class PartialNote {
  public:
    /// What `file` says of the file with that stamp; if it says nothing, it is emptied.
    /// Requires size >= 1.
    PartialNote(int file, const SourceStamp& stamp, std::uint64_t size);

    /// What it said, by block.
    [[nodiscard]] const std::vector<Digest128>& leaves() const { return leaves_; }
    /// Some block is noted.
    [[nodiscard]] bool has_any() const { return has_any_; }

    /// Writes it behind the file's bytes. False and errno where that can't be.
    [[nodiscard]] bool write(int file) const;
    /// This block's bytes are in their place. What can't be noted is sent again, no more.
    void record(int file, std::size_t block, const Digest128& leaf);

  private:
    SourceStamp stamp_;
    std::uint64_t size_;
    std::vector<Digest128> leaves_;
    bool has_any_ = false;
};

}  // namespace stage
