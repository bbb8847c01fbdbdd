// Reads one member of a tree, which another process may be writing to.
//
// What a tree's index says of a member is sent before its data, so these must fit: as many
// bytes as the member had when the tree was walked. A file that only grew is read at its
// earlier length: one that is held (held_members.h), and has the last of these bytes still. One
// that was replaced by another of the same size is read as it is now. A file that changes while
// it is read is read a second time, and counts if the same bytes are still there.
#pragma once

#include "stager/files/manifest/tree_index.h"
#include "stager/files/source/source_item.h"
#include "transport/base/checksum.h"

#include <optional>
#include <vector>

namespace stage {

enum class MemberRead : std::uint8_t {
    done,
    changed,  ///< The bytes do not belong together, or do not fit the index.
    failed,   ///< errno says why.
};

/// Identifies a member's file at the time of the walk.
struct WalkedMember {
    TreeNode node;
    std::optional<Digest128> tail{};  ///< If it is held.
};

class MemberReader {
  public:
    MemberReader() = default;
    /// `file`: open for reading, -1 for none; it must stay open.
    MemberReader(int file, WalkedMember walked) : file_{file}, walked_{std::move(walked)} {}

    /// Call once before read(): checks that the file fits the index.
    [[nodiscard]] MemberRead begin();
    /// Fills `room` with this piece of the member. Its last piece is `done` only if all pieces
    /// read so far belong together.
    [[nodiscard]] MemberRead read(const TreePiece& piece, MutableBytes room);

  private:
    struct Part {
        std::uint64_t offset = 0;
        std::size_t length = 0;
        Digest128 digest{};
    };

    [[nodiscard]] MemberRead fill(const TreePiece& piece, MutableBytes room);
    [[nodiscard]] bool is_last(const TreePiece& piece) const;
    [[nodiscard]] bool fits(const FileState& now) const;
    [[nodiscard]] bool has_only_grown(const FileState& now) const;
    [[nodiscard]] MemberRead read_again();

    int file_ = -1;
    WalkedMember walked_;
    FileState begun_;
    std::vector<Part> parts_;  ///< All that was read of it.
};

}  // namespace stage
