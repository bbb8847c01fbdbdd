// Fills the files of a stage with bytes that this node has before the broadcast.
//
// The bytes stand at the destination, in the node cache, in the partial file of an interrupted
// push, or in a prior copy of a file of an interrupted job. Each is compared with its digest
// before it is held.
#pragma once

#include "stager/content/content.h"
#include "stager/content/source_stamp.h"
#include "stager/files/targets/file_blocks.h"
#include "transport/os/unique_fd.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace stage {

/// The node cache, as a sink sees it.
struct CacheAccess {
    /// An entry, for reading, once; nothing on a miss.
    std::function<UniqueFd(const Content&)> find;
    /// The entry that was found is not that content.
    std::function<void(const Content&)> spoilt;
    /// Called at every block. An error ends the work: during a long copy an interrupt must be
    /// noticed.
    std::function<Status()> check;
};

/// What an earlier stage left of a file on this node.
struct PriorCopy {
    UniqueFd file{};  ///< For reading: a partial file (content/part_note.h), or all of it.
    std::optional<Content> whole{};  ///< Set if `file` is all of the file, with this content.
};

struct PriorCopies {
    std::function<PriorCopy(const SourceStamp&)> find;
    /// Called at every block. The rest is left once this is false, since other nodes wait.
    std::function<bool()> has_time;
};

class LocalFill {
  public:
    /// All must outlive this.
    LocalFill(const Manifest& manifest, SinkTargets& targets, FileBlocks& blocks)
        : manifest_{manifest},
          targets_{targets},
          blocks_{blocks},
          filled_(manifest.entries.size()) {}

    /// Each file whose content the manifest names, if it stands at its destination or is in the
    /// cache. Of bytes that are not that content none are held.
    [[nodiscard]] Status fill(const CacheAccess& cache);
    /// Partial files of interrupted pushes, as far as they are still what was noted.
    [[nodiscard]] Status resume(const std::function<Status()>& check);
    /// Prior copies of an interrupted job's files, as far as they are still what was noted. The
    /// job leaves nothing at the destination. After fill().
    [[nodiscard]] Status resume_from(const PriorCopies& prior, const CacheAccess& cache);

    /// All of the entry came from fill() or a whole prior copy.
    [[nodiscard]] bool is_filled(std::size_t index) const { return filled_[index]; }
    /// A block of a filled entry: its bytes and leaf. Nothing if the block is of another entry,
    /// or its bytes have changed.
    [[nodiscard]] std::optional<Digest128> read(BlockIndex block, MutableBytes room) const;
    /// Bytes of files that this object filled.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    [[nodiscard]] Status fill_whole(std::size_t index,
                                    UniqueFd file,
                                    const Content& content,
                                    const CacheAccess& cache);
    [[nodiscard]] Result<bool> fill_from(std::size_t index,
                                         UniqueFd file,
                                         const Digest128& sum,
                                         const std::function<Status()>& check);
    [[nodiscard]] Result<std::optional<Digest128>> copy_blocks(
        std::size_t index, int file, const std::function<Status()>& check);
    [[nodiscard]] Status resume_noted(BlockIndex first,
                                      std::span<const Digest128> noted,
                                      const std::function<Status()>& check);
    void resume_block(std::uint32_t number, const Digest128& leaf);
    [[nodiscard]] Status resume_whole(std::size_t index,
                                      PriorCopy prior,
                                      const std::function<bool()>& has_time,
                                      const CacheAccess& cache);
    [[nodiscard]] Status resume_part(std::size_t index,
                                     int part,
                                     const std::function<bool()>& has_time,
                                     const CacheAccess& cache);
    [[nodiscard]] Status resume_part_block(BlockIndex block, int part, const Digest128& leaf);

    const Manifest& manifest_;
    SinkTargets& targets_;
    FileBlocks& blocks_;
    std::vector<bool> filled_;     ///< By manifest entry.
    std::vector<std::byte> room_;  ///< For a block that is compared.
    std::uint64_t bytes_ = 0;
};

}  // namespace stage
