// What came of a file before its staging was broken off?
//
// Of a push that may be resumed it stays beside the destination, as ".NAME.stagecast.part": a
// part (content/part_note.h). What a job's stage writes is noted likewise while it grows, so
// that the node's cache can keep of it what had come.
#pragma once

#include "stager/content/part_note.h"
#include "transport/os/unique_fd.h"

#include <string>
#include <vector>

namespace stage {

/// As hidden_name() has it.
[[nodiscard]] std::string partial_name(const std::string& name);

/// `directory`'s file of that name for reading and writing, locked: one that this user has made
/// so, and nobody is at work on. Nothing else is opened.
[[nodiscard]] UniqueFd open_partial(int directory, const std::string& partial);

/// Such a file goes. What isn't one stays.
void remove_partial(int directory, const std::string& partial);

class PartialNote {
  public:
    /// What `file` says of the file with that stamp; if it says nothing, it is emptied.
    /// Requires size >= 1.
    PartialNote(int file, const SourceStamp& stamp, std::uint64_t size);
    /// Of a new file: nothing.
    PartialNote(const SourceStamp& stamp, std::uint64_t size);

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
