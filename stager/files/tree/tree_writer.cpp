#include "stager/files/tree/tree_writer.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <utility>

namespace stage {
namespace {

constexpr std::uint64_t kLongBytes = DropBehind::kWindowBytes / 4;

}  // namespace

Error TreeWriter::failed(std::uint32_t index) const {
    const int cause = errno;
    const std::string below = index_.path(index);
    return target_error(below.empty() ? path_ : path_ + '/' + below, cause);
}

Status TreeWriter::make_directories() {
    struct statfs disk {};
    is_memory_ =
        ::fstatfs(maker_.directories().top(), &disk) == 0 && disk.f_type == TMPFS_MAGIC;
    for (std::uint32_t i = 1; i < index_.size(); ++i) {
        if (index_.kind(i) != TreeKind::directory) {
            continue;
        }
        const TreeNode node = index_.node(i);
        const int parent = maker_.directories().at(node.parent);
        if (parent < 0 || ::mkdirat(parent, node.name.c_str(), 0700) != 0) {
            return failed(i);
        }
    }
    return {};
}

Status TreeWriter::write(std::uint64_t offset, Bytes bytes) {
    std::vector<MakerCrew::Whole> whole;
    for (const TreePiece& piece : index_.pieces(offset, bytes.size())) {
        const Bytes part = bytes.subspan(piece.begin, piece.length);
        if (piece.is_whole) {
            whole.push_back({.node = piece.node, .bytes = part});
            continue;
        }
        const bool is_kept = offset + piece.begin + piece.length <= page_room_;
        if (Status done = write_piece(piece, part, is_kept); !done) {
            return done;
        }
    }
    return make_whole(whole);
}

Status TreeWriter::make_whole(std::span<const MakerCrew::Whole> files) {
    const auto failure = crew_.make(files);
    if (!failure) {
        return {};
    }
    errno = failure->cause;
    return failed(failure->node);
}

Status TreeWriter::write_piece(const TreePiece& piece, Bytes bytes, bool is_kept) {
    const TreeNode file = index_.node(piece.node);
    if (Status opened = open_for(piece, file); !opened) {
        return opened;
    }
    if (!write_fully(open_.get(), bytes, piece.offset)) {
        return failed(piece.node);
    }
    // Waiting for the disk after each small file would cost more than its pages.
    if (!is_kept && file.data_bytes() >= kLongBytes) {
        behind_.wrote(open_.get(), piece.offset, piece.length);
        errno = behind_.cause();
        if (errno != 0) {
            return failed(piece.node);
        }
    }
    std::uint64_t& left = missing_.at(piece.node);
    left -= piece.length;
    if (left > 0) {
        return {};
    }
    missing_.erase(piece.node);
    return settle_open(file, piece.node);
}

Status TreeWriter::close_open() {
    behind_.end(open_.get());
    const int cause = close_written(open_) ? behind_.cause() : errno;
    const std::uint32_t node = std::exchange(open_node_, 0);
    errno = cause;
    return cause == 0 ? Status{} : Status{failed(node)};
}

Status TreeWriter::open_for(const TreePiece& piece, const TreeNode& file) {
    if (open_node_ == piece.node) {
        return {};
    }
    if (Status closed = close_open(); !closed) {
        return closed;
    }
    if (missing_.try_emplace(piece.node, file.data_bytes()).second) {
        return begin_long(file, piece.node);
    }
    const int directory = maker_.directories().at(file.parent);
    open_.reset(directory < 0 ? -1
                              : ::openat(directory,
                                         file.name.c_str(),
                                         O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!open_) {
        return failed(piece.node);
    }
    open_node_ = piece.node;
    return {};
}

Status TreeWriter::begin_long(const TreeNode& file, std::uint32_t index) {
    open_ = maker_.begin(file, false).fd;
    if (!open_) {
        return failed(index);
    }
    open_node_ = index;
    // Allocates the space at once, if the file system supports it and is not in memory.
    if (!is_memory_ && file.kind == TreeKind::file &&
        ::fallocate(open_.get(), 0, 0, static_cast<off_t>(file.size)) != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
        return failed(index);
    }
    return {};
}

Status TreeWriter::settle_open(const TreeNode& file, std::uint32_t index) {
    const bool is_kept = keep_attributes(open_.get(), file);
    Status done = is_kept ? Status{} : Status{failed(index)};
    Status closed = close_open();
    return done ? std::move(closed) : std::move(done);
}

Status TreeWriter::read_back(std::uint64_t offset, MutableBytes room) {
    for (const TreePiece& piece : index_.pieces(offset, room.size())) {
        const TreeNode file = index_.node(piece.node);
        const int directory = maker_.directories().at(file.parent);
        const UniqueFd fd{directory < 0
                              ? -1
                              : ::openat(directory,
                                         file.name.c_str(),
                                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
        const MutableBytes part = room.subspan(piece.begin, piece.length);
        if (!fd || read_fully(fd.get(), part, piece.offset) !=
                       static_cast<std::int64_t>(part.size())) {
            return failed(piece.node);
        }
    }
    return {};
}

Status TreeWriter::finish() {
    if (Status closed = close_open(); !closed) {
        return closed;
    }
    if (Status added = add_empty(); !added) {
        return added;
    }
    for (std::uint32_t i = 1; i < index_.size(); ++i) {
        if (Status added = add_link(i); !added) {
            return added;
        }
    }
    for (std::uint32_t i = index_.size(); i-- > 0;) {
        if (index_.kind(i) != TreeKind::directory) {
            continue;
        }
        if (Status settled = settle_directory(i); !settled) {
            return settled;
        }
    }
    return {};
}

/// Makes the empty files, which no block contains.
Status TreeWriter::add_empty() {
    std::vector<MakerCrew::Whole> empty;
    auto written = index_.starts().begin();
    for (std::uint32_t i = 1; i < index_.size(); ++i) {
        const TreeKind kind = index_.kind(i);
        if (written != index_.starts().end() && written->node == i) {
            ++written;
        } else if (kind == TreeKind::file || kind == TreeKind::sparse) {
            empty.push_back({.node = i, .bytes = {}});
        }
    }
    return make_whole(empty);
}

Status TreeWriter::add_link(std::uint32_t index) {
    switch (index_.kind(index)) {
        case TreeKind::symlink:
            return add_symlink(index_.node(index), index);
        case TreeKind::hard_link:
            return add_hard_link(index_.node(index), index);
        case TreeKind::directory:
        case TreeKind::file:
        case TreeKind::sparse:
            break;
    }
    return {};
}

Status TreeWriter::add_symlink(const TreeNode& node, std::uint32_t index) {
    const int directory = maker_.directories().at(node.parent);
    if (directory < 0 || ::symlinkat(node.text.c_str(), directory, node.name.c_str()) != 0) {
        return failed(index);
    }
    const bool is_root = maker_.maker().uid == 0;
    if ((is_root && node.uid != 0) || node.gid != maker_.maker().gid) {
        constexpr auto kNobodyElse = static_cast<uid_t>(-1);
        static_cast<void>(!::fchownat(directory,
                                      node.name.c_str(),
                                      is_root ? node.uid : kNobodyElse,
                                      node.gid,
                                      AT_SYMLINK_NOFOLLOW));
    }
    const std::array times{
        timespec{0, UTIME_OMIT},
        timespec{node.mtime.seconds, static_cast<long>(node.mtime.nanoseconds)}};
    static_cast<void>(
        ::utimensat(directory, node.name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW));
    return {};
}

Status TreeWriter::add_hard_link(const TreeNode& node, std::uint32_t index) {
    const TreeNode original = index_.node(node.original);
    // Opening the second directory may close the first.
    const UniqueFd from{::fcntl(maker_.directories().at(original.parent), F_DUPFD_CLOEXEC, 0)};
    const int to = maker_.directories().at(node.parent);
    if (!from || to < 0 ||
        ::linkat(from.get(), original.name.c_str(), to, node.name.c_str(), 0) != 0) {
        return link_error(path_ + '/' + index_.path(index), errno);
    }
    return {};
}

Status TreeWriter::settle_directory(std::uint32_t index) {
    const int place = maker_.directories().at(index);
    const UniqueFd directory{
        place < 0 ? -1 : ::openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!directory || !keep_attributes(directory.get(), index_.node(index))) {
        return failed(index);
    }
    return {};
}

}  // namespace stage
