#include "stager/files/source/source_tree.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"
#include "stager/files/manifest/attributes.h"

#include <fcntl.h>

#include <algorithm>

namespace stage {
namespace {

/// Returns "b" for "/a/b", "/a/b/" and "/a/b/.".
std::string last_component(std::string path) {
    while (path.ends_with('/') || path.ends_with("/.")) {
        path.resize(path.rfind('/'));
    }
    const std::string name = path.substr(path.rfind('/') + 1);
    return is_plain_name(name) ? name : "unnamed";
}

std::optional<SourceStamp> stamp_on(int top, const std::string& path, const WalkedTree& tree) {
    const auto ground = stamp_ground(top);
    return ground ? tree.stamper.stamp(path, tree.index.bytes(), *ground) : std::nullopt;
}

/// True if a file's data end with this piece.
bool is_last(const TreePiece& piece, const TreeNode& file) {
    const std::uint64_t end = file.kind == TreeKind::sparse
                                  ? file.extents.back().offset + file.extents.back().length
                                  : file.size;
    return piece.offset + piece.length == end;
}

}  // namespace

Result<SourceTree> SourceTree::open(std::string path, bool is_ownerless) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    UniqueFd top{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct stat status {};
    if (!top || ::fstat(top.get(), &status) != 0) {
        return source_error(path, errno);
    }
    TRY(auto tree, walk_tree(top, path, is_ownerless));
    return SourceTree{std::move(path), std::move(top), std::move(tree), status};
}

SourceTree::SourceTree(std::string path,
                       UniqueFd top,
                       WalkedTree tree,
                       const struct stat& status)
    : path_{std::move(path)},
      identity_{identity_of(status)},
      stamp_{stamp_on(top.get(), path_, tree)},
      above_{directories_from(
          UniqueFd{::openat(top.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC)})},
      top_{tree.index.node(0)},
      tree_{std::make_unique<WalkedTree>(std::move(tree))},
      directories_{tree_->index, std::move(top)} {
}

ManifestEntry SourceTree::describe() const {
    ManifestEntry entry;
    entry.name = last_component(path_);
    entry.size = index().data_bytes();
    entry.mode = static_cast<std::uint16_t>((top_.mode & ~kSetIdBits) | tree_->set_id);
    entry.uid = top_.uid;
    entry.gid = top_.gid;
    entry.mtime = tree_->newest;
    entry.index_bytes = static_cast<std::uint32_t>(index().bytes().size());
    entry.room = index().room();
    entry.inodes = index().inodes();
    return entry;
}

std::string SourceTree::path_of(std::uint32_t node) const {
    return path_ + (path_.ends_with('/') ? "" : "/") + index().path(node);
}

Status SourceTree::read(std::uint64_t offset, MutableBytes room) {
    const Bytes own = index().bytes();
    if (offset < own.size()) {
        std::ranges::copy(own.subspan(offset, room.size()), room.begin());
        return {};
    }
    for (const TreePiece& piece : index().pieces(offset - own.size(), room.size())) {
        if (Status done = read_piece(piece, room.subspan(piece.begin, piece.length)); !done) {
            return done;
        }
    }
    return {};
}

Status SourceTree::read_piece(const TreePiece& piece, MutableBytes room) {
    if (Status opened = open_file(piece.node); !opened) {
        return opened;
    }
    const std::int64_t count = read_fully(open_.get(), room, piece.offset);
    if (count < 0) {
        return source_error(path_of(piece.node), errno);
    }
    const TreeNode file = index().node(piece.node);
    const bool is_whole = static_cast<std::size_t>(count) == room.size();
    // The last bytes of a changed file are never sent; of a long file, neither are the first.
    const bool is_telling = is_last(piece, file) || piece.offset == 0;
    // For its first bytes the file was just opened, which makes NFS ask its server. Asking
    // again for each small file would cost about as much as reading it.
    const bool is_asked_anew = piece.offset != 0;
    if (!is_whole || (is_telling && !is_as_walked(file, is_asked_anew))) {
        return changed_while_read(path_of(piece.node));
    }
    return {};
}

Status SourceTree::open_file(std::uint32_t node) {
    if (open_node_ == node) {
        return {};
    }
    open_node_ = 0;
    const TreeNode file = index().node(node);
    const int directory = directories_.at(file.parent);
    open_.reset(directory < 0
                    ? -1
                    : ::openat(directory,
                               file.name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!open_) {
        const bool is_gone = errno == ENOENT || errno == ELOOP || errno == ENOTDIR;
        return is_gone ? changed_while_read(path_of(node)) : source_error(path_of(node), errno);
    }
    open_node_ = node;
    return {};
}

/// True if the open file is still the file of the index.
bool SourceTree::is_as_walked(const TreeNode& file, bool is_asked_anew) const {
    const auto now = state_of(open_.get(), is_asked_anew);
    return now && S_ISREG(now->mode) && now->size == file.size && now->mtime == file.mtime;
}

/// Names the first changed file in these bytes, or the first one.
Error SourceTree::changed_error(std::uint64_t offset, std::size_t length) {
    const std::size_t own = index().bytes().size();
    if (offset < own) {
        return changed_while_read(path_);
    }
    const std::vector<TreePiece> pieces = index().pieces(offset - own, length);
    for (const TreePiece& piece : pieces) {
        open_node_ = 0;
        TRY(open_file(piece.node));
        if (!is_as_walked(index().node(piece.node), true)) {
            return changed_while_read(path_of(piece.node));
        }
    }
    return changed_while_read(path_of(pieces.front().node));
}

}  // namespace stage
