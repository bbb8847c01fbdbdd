#include "stager/files/source/source_tree.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/open_to_read.h"
#include "stager/files/manifest/attributes.h"
#include "stager/spec/amount.h"

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

}  // namespace

Result<SourceTree> SourceTree::open(std::string path,
                                    const TreeChoice& choice,
                                    HeldRoom& room) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    UniqueFd top{::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct stat status {};
    if (!top || ::fstat(top.get(), &status) != 0) {
        return source_error(path, errno);
    }
    TRY(auto tree, walk_tree(top, path, choice, &room));
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
      directories_{tree_->index, std::move(top), &tree_->followed} {
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

std::string SourceTree::remarks() const {
    std::string words;
    const auto add = [&](const Remark& remark, const char* what, const char* fate) {
        if (remark.count > 0) {
            words += (words.empty() ? "" : "; ") + count_text(remark.count, what) + fate +
                     " (" + remark.first + (remark.count > 1 ? ", ...)" : ")");
        }
    };
    add(tree_->sockets, "socket", " left out");
    add(tree_->devices, "device or pipe", " left out");
    add(tree_->outward, "link", " out of the directory kept as such, follow copies the files");
    return words;
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
    const HeldMember* const held = tree_->held.find(piece.node);
    if (held != nullptr && !held->file) {
        std::ranges::copy(Bytes{held->bytes}.subspan(piece.offset, room.size()), room.begin());
        return {};
    }
    const Result<Reading*> reading = reading_of(piece.node);
    if (!reading) {
        return reading.error();
    }
    const MemberRead result = (*reading)->reader.read(piece, room);
    return result == MemberRead::done ? Status{} : Status{error_of(result, piece.node)};
}

/// A retransmission must not disturb the check of the member that is being read.
Result<SourceTree::Reading*> SourceTree::reading_of(std::uint32_t node) {
    Reading& reading = node < forward_.node ? again_ : forward_;
    if (reading.node != node) {
        reading = Reading{};
        if (Status opened = open_file(node, reading); !opened) {
            return std::move(opened).error();
        }
    }
    return &reading;
}

Status SourceTree::open_file(std::uint32_t node, Reading& reading) {
    const TreeNode file = index().node(node);
    const HeldMember* const held = tree_->held.find(node);
    if (held == nullptr) {
        const int directory = directories_.at(file.parent);
        const int follow = tree_->followed.contains(node) ? 0 : O_NOFOLLOW;
        reading.file = directory < 0 ? UniqueFd{} : open_to_read(directory, file.name, follow);
        if (!reading.file) {
            const bool is_gone = errno == ENOENT || errno == ELOOP || errno == ENOTDIR;
            return error_of(is_gone ? MemberRead::changed : MemberRead::failed, node);
        }
    }
    reading.reader = held != nullptr ? MemberReader{held->file.get(), {file, held->tail}}
                                     : MemberReader{reading.file.get(), {file, {}}};
    if (const MemberRead begun = reading.reader.begin(); begun != MemberRead::done) {
        return error_of(begun, node);
    }
    reading.node = node;
    return {};
}

Error SourceTree::error_of(MemberRead result, std::uint32_t node) const {
    const int cause = errno;
    const std::string path = path_of(node);
    return result == MemberRead::changed ? changed_while_read(path, true)
                                         : source_error(path, cause);
}

/// Names the first file in these bytes that was written to since the walk, or the first one.
Error SourceTree::changed_error(std::uint64_t offset, std::size_t length) {
    const std::size_t own = index().bytes().size();
    if (offset < own) {
        return changed_while_read(path_);
    }
    const std::vector<TreePiece> pieces = index().pieces(offset - own, length);
    for (const TreePiece& piece : pieces) {
        const HeldMember* const held = tree_->held.find(piece.node);
        if (held != nullptr && !held->file) {
            continue;  // It is in memory.
        }
        Reading now;
        TRY(open_file(piece.node, now));
        const TreeNode file = index().node(piece.node);
        const auto state = now.file ? state_of(now.file.get(), true) : std::nullopt;
        if (state && (state->size != file.size || state->mtime != file.mtime)) {
            return error_of(MemberRead::changed, piece.node);
        }
    }
    return error_of(MemberRead::changed, pieces.front().node);
}

}  // namespace stage
