#include "stager/files/target/file_compare.h"

#include "stager/disk/disk_io.h"
#include "stager/files/manifest/holes.h"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace stage {

std::optional<bool> has_bytes(int file,
                              const TreeNode& node,
                              std::uint64_t offset,
                              Bytes bytes) {
    std::vector<std::byte> there(bytes.size());
    for (const FilePiece& piece : file_pieces(node, offset, bytes.size())) {
        const MutableBytes part = MutableBytes{there}.subspan(piece.begin, piece.length);
        if (read_fully(file, part, piece.offset) < 0) {
            return std::nullopt;
        }
    }
    return std::equal(bytes.begin(), bytes.end(), there.begin());
}

std::optional<bool> has_holes(int file, const TreeNode& node) {
    std::uint64_t end = 0;
    std::vector<TreeExtent> extents = node.extents;
    extents.push_back({.offset = node.size, .length = 0});
    for (const TreeExtent& extent : extents) {
        if (node.kind == TreeKind::sparse && !is_zero(file, end, extent.offset)) {
            return errno == 0 ? std::optional{false} : std::nullopt;
        }
        end = extent.offset + extent.length;
    }
    return true;
}

}  // namespace stage
