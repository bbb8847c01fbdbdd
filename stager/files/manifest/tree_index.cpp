#include "stager/files/manifest/tree_index.h"

#include "stager/files/manifest/attributes.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::uint32_t kMagic = 0x53435449;  // "SCTI"
constexpr std::uint8_t kVersion = 1;
/// The shortest node: a hard link with a name of one byte.
constexpr std::size_t kLeastNodeBytes = 1 + 4 + 1 + 1 + 4;

Error no_index() {
    return {Blame::internal, "a staged directory does not begin with a valid index"};
}

}  // namespace

TreeIndex::TreeIndex() : bytes_(kTreeHeadBytes) {
    write_head();
}

void TreeIndex::write_head() {
    ByteWriter head;
    head.u32(kMagic).u8(kVersion).u8(0).u16(0).u32(size()).u64(data_bytes_);
    std::ranges::copy(head.view(), bytes_.begin());
}

/// Why the node is invalid at the next position; empty if it is valid.
std::string_view TreeIndex::reason_against_next(const TreeNode& node) const {
    if (at_.empty()) {
        const bool is_top =
            node.kind == TreeKind::directory && node.name.empty() && node.parent == 0;
        return is_top ? std::string_view{} : "a top that is no directory";
    }
    if (!is_plain_name(node.name)) {
        return "an invalid name";
    }
    if (node.parent >= size() || kind(node.parent) != TreeKind::directory) {
        return "a member of no directory";
    }
    const bool is_in_order = size() == 1 || node.parent > last_parent_ ||
                             (node.parent == last_parent_ && node.name > last_name_);
    if (!is_in_order) {
        return "members out of order";
    }
    if (node.kind == TreeKind::directory && depth_[node.parent] >= kMaxTreeDepth) {
        return "more than 1024 directories in one another";
    }
    if (node.kind == TreeKind::hard_link &&
        (node.original >= size() ||
         (kind(node.original) != TreeKind::file && kind(node.original) != TreeKind::sparse))) {
        return "a hard link to no file";
    }
    return {};
}

Status TreeIndex::add(const TreeNode& node) {
    std::string_view reason = reason_against(node);
    if (reason.empty()) {
        reason = reason_against_next(node);
    }
    if (!reason.empty()) {
        return Error{Blame::user, std::string{reason}};
    }
    ByteWriter writer;
    put_node(writer, node);
    if (size() >= kMaxTreeNodes || bytes_.size() + writer.size() > kMaxTreeIndexBytes ||
        node.data_bytes() > kMaxTreeBytes - data_bytes_) {
        return Error{Blame::user, "too much for one stage"}.remedy(
            "a directory may have 4194304 members, their names and attributes 256 MiB");
    }
    note(node, bytes_.size());
    const Bytes encoded = writer.view();
    bytes_.insert(bytes_.end(), encoded.begin(), encoded.end());
    write_head();
    return {};
}

void TreeIndex::note(const TreeNode& node, std::size_t at) {
    const std::uint64_t bytes = node.data_bytes();
    if (bytes > 0) {
        starts_.push_back({.offset = data_bytes_, .node = size()});
    }
    data_bytes_ += bytes;
    if (node.kind != TreeKind::hard_link) {
        ++inodes_;
        room_ += node.room();
    }
    depth_.push_back(at_.empty() ? std::uint16_t{0}
                                 : static_cast<std::uint16_t>(depth_[node.parent] + 1));
    at_.push_back(static_cast<std::uint32_t>(at));
    last_parent_ = node.parent;
    last_name_ = node.name;
}

Result<TreeIndex> TreeIndex::decode(std::vector<std::byte> bytes) {
    TreeIndex index;
    index.bytes_ = std::move(bytes);
    ByteReader reader{index.bytes_};
    const bool is_ours = reader.u32() == kMagic && reader.u8() == kVersion;
    static_cast<void>(reader.raw(3));
    const std::uint32_t count = reader.u32();
    const std::uint64_t data_bytes = reader.u64();
    if (!reader.ok() || !is_ours || index.bytes_.size() > kMaxTreeIndexBytes || count == 0 ||
        count > kMaxTreeNodes || count > reader.left() / kLeastNodeBytes) {
        return no_index();
    }
    index.at_.reserve(count);
    index.depth_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::size_t at = index.bytes_.size() - reader.left();
        const TreeNode node = take_node(reader);
        if (!reader.ok() || !index.reason_against_next(node).empty() ||
            node.data_bytes() > kMaxTreeBytes - index.data_bytes_) {
            return no_index();
        }
        index.note(node, at);
    }
    if (!reader.finished() || index.data_bytes_ != data_bytes) {
        return no_index();
    }
    return index;
}

TreeNode TreeIndex::node(std::uint32_t index) const {
    ByteReader reader{Bytes{bytes_}.subspan(at_[index])};
    TreeNode node = take_node(reader);
    invariant(reader.ok(), "what was taken into an index is there");
    return has_owners_ ? node : without_owner(std::move(node));
}

TreeKind TreeIndex::kind(std::uint32_t index) const {
    return static_cast<TreeKind>(bytes_[at_[index]]);
}

std::string TreeIndex::path(std::uint32_t index) const {
    std::string path;
    while (index != 0) {
        const TreeNode here = node(index);
        path = path.empty() ? here.name : here.name + '/' + path;
        index = here.parent;
    }
    return path;
}

std::vector<TreePiece> TreeIndex::pieces(std::uint64_t offset, std::size_t length) const {
    invariant(offset <= data_bytes_ && length <= data_bytes_ - offset, "data that are there");
    std::vector<TreePiece> pieces;
    auto start = std::upper_bound(
        starts_.begin(), starts_.end(), offset, [](std::uint64_t wanted, const Start& one) {
            return wanted < one.offset;
        });
    std::size_t done = 0;
    for (start -= start == starts_.begin() ? 0 : 1; done < length; ++start) {
        const auto next = start + 1;
        const std::uint64_t end = next == starts_.end() ? data_bytes_ : next->offset;
        const std::uint64_t from = offset + done - start->offset;
        const auto count = static_cast<std::size_t>(
            std::min<std::uint64_t>(length - done, end - offset - done));
        if (kind(start->node) == TreeKind::file) {
            const bool is_whole = from == 0 && count == end - start->offset;
            pieces.push_back({start->node, from, done, count, is_whole});
        } else {
            for (const FilePiece& piece : file_pieces(node(start->node), from, count)) {
                pieces.push_back(
                    {start->node, piece.offset, done + piece.begin, piece.length, false});
            }
        }
        done += count;
    }
    return pieces;
}

}  // namespace stage
