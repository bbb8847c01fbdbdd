#include "stager/files/source/member_reader.h"

#include "stager/disk/disk_io.h"
#include "stager/files/source/held_members.h"

#include <algorithm>

namespace stage {

/// A file that was written anew, and longer, is another one.
bool MemberReader::has_only_grown(const FileState& now) const {
    return now.size > walked_.node.size && walked_.tail &&
           tail_of(file_, walked_.node.size) == walked_.tail;
}

/// A file with holes is sent as the extents that it had, so only the same file can fit.
bool MemberReader::fits(const FileState& now) const {
    const TreeNode& node = walked_.node;
    const bool is_as_walked = now.size == node.size && now.mtime == node.mtime;
    const bool is_as_long = now.size == node.size || has_only_grown(now);
    return S_ISREG(now.mode) && (is_as_walked || (is_as_long && node.kind == TreeKind::file));
}

MemberRead MemberReader::begin() {
    // (The file was just opened, which makes NFS ask its server.)
    const auto now = state_of(file_, false);
    if (!now) {
        return MemberRead::failed;
    }
    begun_ = *now;
    return fits(begun_) ? MemberRead::done : MemberRead::changed;
}

bool MemberReader::is_last(const TreePiece& piece) const {
    const TreeNode& node = walked_.node;
    const std::uint64_t end = node.kind == TreeKind::sparse
                                  ? node.extents.back().offset + node.extents.back().length
                                  : node.size;
    return piece.offset + piece.length == end;
}

MemberRead MemberReader::fill(const TreePiece& piece, MutableBytes room) {
    const std::int64_t count = read_fully(file_, room, piece.offset);
    if (count < 0) {
        return MemberRead::failed;
    }
    return static_cast<std::size_t>(count) == room.size() ? MemberRead::done
                                                          : MemberRead::changed;
}

MemberRead MemberReader::read(const TreePiece& piece, MutableBytes room) {
    constexpr int kReadsMax = 3;
    const bool is_only = parts_.empty() && is_last(piece);
    for (int reads = 1;; ++reads) {
        if (const MemberRead filled = fill(piece, room); filled != MemberRead::done) {
            return filled;
        }
        parts_.push_back(
            {.offset = piece.offset, .length = room.size(), .digest = xxh3_128(room)});
        if (!is_last(piece)) {
            return MemberRead::done;
        }
        // Asking the server again for each small file would cost about as much as reading it.
        const auto now = state_of(file_, !is_only);
        if (!now) {
            return MemberRead::failed;
        }
        if (now->size == begun_.size && now->mtime == begun_.mtime) {
            return MemberRead::done;
        }
        begun_ = *now;
        const MemberRead again = read_again();
        // Nothing was sent yet of a member that is read in one piece.
        if (again != MemberRead::changed || !is_only || reads == kReadsMax) {
            return again;
        }
        parts_.clear();
    }
}

/// Checks that the file still has the bytes that were read. (Of more than that a disk takes so
/// long that the reader would count as stuck.)
MemberRead MemberReader::read_again() {
    constexpr std::uint64_t kAgainMax = std::uint64_t{4} << 30U;
    if (parts_.back().offset > kAgainMax) {
        return MemberRead::changed;
    }
    std::vector<std::byte> room;
    for (const Part& part : parts_) {
        room.resize(part.length);
        const TreePiece piece{.node = 0, .offset = part.offset, .length = part.length};
        if (const MemberRead filled = fill(piece, room); filled != MemberRead::done) {
            return filled;
        }
        if (xxh3_128(room) != part.digest) {
            return MemberRead::changed;
        }
    }
    return MemberRead::done;
}

}  // namespace stage
