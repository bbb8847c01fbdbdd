// Keeps the received part of a file when its staging is interrupted, so that it can be resumed.
//
// For a push that may be resumed it stays beside the destination as ".NAME.stagecast.part", a
// partial file (content/part_note.h). A job's stage writes a note in the same way while the
// file grows, so that the node cache can keep the received blocks.
#pragma once

#include "stager/content/part_note.h"
#include "transport/os/unique_fd.h"

#include <string>
#include <vector>

namespace stage {

/// The name of the partial file, by hidden_name().
[[nodiscard]] std::string partial_name(const std::string& name);

/// Opens and locks `directory`'s partial file for reading and writing. It must have been made
/// so by this user, and no other process may hold it; otherwise the result is empty.
[[nodiscard]] UniqueFd open_partial(int directory, const std::string& partial);

/// Removes such a file, and no other.
void remove_partial(int directory, const std::string& partial);

class PartialNote {
  public:
    /// Reads the note in `file` about the file with that stamp; without a valid note `file` is
    /// emptied. Requires size >= 1.
    PartialNote(int file, const SourceStamp& stamp, std::uint64_t size);
    /// The empty note of a new file.
    PartialNote(const SourceStamp& stamp, std::uint64_t size);

    /// The leaf digests in the note, by block.
    [[nodiscard]] const std::vector<Digest128>& leaves() const { return leaves_; }
    /// True if the note has at least one block.
    [[nodiscard]] bool has_any() const { return has_any_; }

    /// Writes the note behind the file's bytes. Returns false, with errno, on failure.
    [[nodiscard]] bool write(int file) const;
    /// Records that this block's bytes are in their place. On failure the block is sent again
    /// after an interruption.
    void record(int file, std::size_t block, const Digest128& leaf);

  private:
    SourceStamp stamp_;
    std::uint64_t size_;
    std::vector<Digest128> leaves_;
    bool has_any_ = false;
};

}  // namespace stage
