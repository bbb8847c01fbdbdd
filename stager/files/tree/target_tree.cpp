#include "stager/files/tree/target_tree.h"

#include "stager/disk/disk_io.h"
#include "stager/files/manifest/attributes.h"

#include <fcntl.h>

#include <algorithm>

namespace stage {
namespace {

Error malformed(const std::string& path) {
    return {Blame::internal, path + ": the received bytes do not match the manifest"};
}

}  // namespace

std::size_t TargetTree::file_count() const {
    std::size_t count = 0;
    for (std::uint32_t i = 0; index_ && i < index_->size(); ++i) {
        count += index_->node(i).kind == TreeKind::directory ? 0U : 1U;
    }
    return index_ ? count : 1;
}

Result<std::unique_ptr<TargetTree>> TargetTree::decide(TargetOrder order,
                                                       const ManifestEntry& entry,
                                                       Writer writer) {
    const std::uint64_t page_room = order.page_room;
    const bool keeps_owners = order.keeps_owners;
    if (!keeps_owners && (entry.mode & kSetIdBits) != 0) {
        return set_id_refused("a file in " + order.place.path());
    }
    TRY(auto place, TreePlace::decide(std::move(order), entry.mtime, std::move(writer)));
    return std::make_unique<TargetTree>(std::move(place), entry, page_room, keeps_owners);
}

TargetTree::~TargetTree() {
    is_stopped_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

void TargetTree::adopt(UniqueFd file) {
    kept_ = std::move(file);
    thread_ = std::thread{[this] { made_ = make_all(); }};
}

std::uint64_t TargetTree::kept_at(std::uint64_t offset) const {
    return offset < entry_.index_bytes ? offset
                                       : std::uint64_t{entry_.index_blocks()} * kBlockBytes +
                                             offset - entry_.index_bytes;
}

/// Writes the tree as if the blocks arrived in order.
Status TargetTree::make_all() {
    std::vector<std::byte> room(kBlockBytes);
    const std::uint64_t end = entry_.index_bytes + entry_.size;
    for (std::uint64_t at = 0; at < end && !is_stopped_;) {
        const std::uint64_t till = at < entry_.index_bytes ? entry_.index_bytes : end;
        const MutableBytes bytes =
            MutableBytes{room}.first(std::min<std::uint64_t>(kBlockBytes, till - at));
        if (Status read = read_back(at, bytes); !read) {
            return read;
        }
        TRY(write(at, bytes));
        at += bytes.size();
    }
    return {};
}

TargetNeeds TargetTree::needs() const {
    return is_left() ? TargetNeeds{}
                     : TargetNeeds{.bytes = entry_.room, .inodes = entry_.inodes};
}

Result<Placing> TargetTree::write(std::uint64_t offset, Bytes bytes) {
    if (is_left()) {
        return Placing::discarded;
    }
    if (offset < entry_.index_bytes) {
        return gather(offset, bytes);
    }
    if (!tree_) {
        return Placing::deferred;
    }
    Status written = tree_->write(offset - entry_.index_bytes, bytes);
    return written ? Result<Placing>{Placing::placed} : std::move(written).error();
}

Result<Placing> TargetTree::gather(std::uint64_t offset, Bytes bytes) {
    if (tree_) {
        return Placing::placed;
    }
    if (gathered_.empty()) {
        gathered_.resize(entry_.index_bytes);
        is_gathered_.resize((gathered_.size() + kBlockBytes - 1) / kBlockBytes);
    }
    std::ranges::copy(bytes, gathered_.begin() + static_cast<std::ptrdiff_t>(offset));
    is_gathered_[offset / kBlockBytes] = true;
    if (std::ranges::find(is_gathered_, false) == is_gathered_.end()) {
        TRY(take_index());
    }
    return Placing::placed;
}

Status TargetTree::take_index() {
    Result<TreeIndex> index = TreeIndex::decode(std::move(gathered_));
    gathered_ = {};
    if (!index || index->data_bytes() != entry_.size || index->room() != entry_.room ||
        index->inodes() != entry_.inodes) {
        return index ? malformed(path()) : std::move(index).error();
    }
    index_.emplace(*std::move(index));
    if (Status plain = keeps_owners_ ? Status{} : drop_owners(); !plain) {
        return plain;
    }
    UniqueFd top{::fcntl(place().top(), F_DUPFD_CLOEXEC, 0)};
    if (!top) {
        return place().failed(errno);
    }
    tree_.emplace(*index_, std::move(top), path(), page_room_);
    return tree_->make_directories();
}

/// The manifest reports set-id bits earlier; the index is checked, too.
Status TargetTree::drop_owners() {
    for (std::uint32_t i = 0; i < index_->size(); ++i) {
        const TreeNode node = index_->node(i);
        if (node.is_file() && (node.mode & kSetIdBits) != 0) {
            return set_id_refused(path() + '/' + index_->path(i));
        }
    }
    index_->drop_owners();
    return {};
}

Status TargetTree::read_back(std::uint64_t offset, MutableBytes room) {
    const Error absent{Blame::internal, path() + ": its bytes were not kept"};
    if (is_left()) {
        return absent;
    }
    if (kept_) {
        const bool is_read = read_fully(kept_.get(), room, kept_at(offset)) ==
                             static_cast<std::int64_t>(room.size());
        return is_read ? Status{} : Status{absent};
    }
    if (offset >= entry_.index_bytes) {
        return tree_ ? tree_->read_back(offset - entry_.index_bytes, room) : absent;
    }
    const Bytes index = index_ ? index_->bytes() : Bytes{gathered_};
    if (index.size() < offset || index.size() - offset < room.size()) {
        return absent;
    }
    std::ranges::copy(index.subspan(offset, room.size()), room.begin());
    return {};
}

Status TargetTree::settle() {
    if (is_left()) {
        return {};
    }
    if (thread_.joinable()) {
        thread_.join();
    }
    if (!made_ || !tree_) {
        return made_ ? malformed(path()) : made_;
    }
    if (Status done = tree_->finish(); !done) {
        return done;
    }
    return place().sync();
}

}  // namespace stage
