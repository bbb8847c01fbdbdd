// Writes the members of a tree, whatever the order in which their bytes arrive.
//
// Directories are made first, with mode 0700. A file that lies within one block is made,
// written, settled and closed at once, by several threads if a block has many; a longer one is
// made by the first of its blocks and settled by the last. At the end come empty files, links,
// and, from the inside out, the modes and times of the directories. All steps use descriptors
// below the top, and no link is ever followed.
// modes and times. All of it by descriptors below the top; no link is ever followed.
#pragma once

#include "stager/disk/drop_behind.h"
#include "stager/disk/page_room.h"
#include "stager/files/tree/maker_crew.h"

#include <unordered_map>

namespace stage {

class TreeWriter {
  public:
    /// `index` must outlive this object. `path` is the final path of the top, for messages.
    /// `page_room`: the number of first data bytes that may stay in memory; pages of long files
    /// beyond are dropped once on the disk. `threads`: the number that make small files.
    TreeWriter(const TreeIndex& index,
               UniqueFd top,
               std::string path,
               std::uint64_t page_room = kAllPages,
               unsigned threads = MakerCrew::threads_here())
        : index_{index},
          maker_{index, std::move(top)},
          crew_{index, maker_, threads},
          path_{std::move(path)},
          page_room_{page_room} {}

    [[nodiscard]] Status make_directories();
    /// Writes the data at `offset`; each byte is written once.
    [[nodiscard]] Status write(std::uint64_t offset, Bytes bytes);
    /// Reads data that were written.
    [[nodiscard]] Status read_back(std::uint64_t offset, MutableBytes room);
    /// Called when every byte was written; makes the rest.
    [[nodiscard]] Status finish();

  private:
    [[nodiscard]] Status make_whole(std::span<const MakerCrew::Whole> files);
    [[nodiscard]] Status write_piece(const TreePiece& piece, Bytes bytes, bool is_kept);
    [[nodiscard]] Status close_open();
    [[nodiscard]] Status open_for(const TreePiece& piece, const TreeNode& file);
    [[nodiscard]] Status begin_long(const TreeNode& file, std::uint32_t index);
    [[nodiscard]] Status settle_open(const TreeNode& file, std::uint32_t index);
    [[nodiscard]] Status add_empty();
    [[nodiscard]] Status add_link(std::uint32_t index);
    [[nodiscard]] Status add_symlink(const TreeNode& node, std::uint32_t index);
    [[nodiscard]] Status add_hard_link(const TreeNode& node, std::uint32_t index);
    [[nodiscard]] Status settle_directory(std::uint32_t index);
    [[nodiscard]] Error failed(std::uint32_t index) const;

    const TreeIndex& index_;
    TreeMaker maker_;
    MakerCrew crew_;
    std::string path_;
    std::uint64_t page_room_;
    DropBehind behind_{0};         ///< For the open file.
    bool is_memory_ = false;       ///< The tree is on a tmpfs.
    std::uint32_t open_node_ = 0;  ///< The node of the open file; 0, the top: none.
    UniqueFd open_;
    /// The number of missing bytes of each file that was begun.
    std::unordered_map<std::uint32_t, std::uint64_t> missing_;
};

}  // namespace stage
