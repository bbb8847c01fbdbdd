#include "stager/files/manifest/tree_node.h"

#include "transport/base/text.h"

#include <algorithm>
#include <string_view>

namespace stage {
namespace {

constexpr std::uint32_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kDiskBlockBytes = 4096;
/// Shorter link texts and attributes fit into the inode on most file systems.
constexpr std::size_t kInlineBytes = 60;

std::uint64_t rounded(std::uint64_t bytes) {
    return (bytes + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes;
}

bool lie_in_order(const TreeNode& node) {
    std::uint64_t end = 0;
    bool is_first = true;
    for (const TreeExtent& extent : node.extents) {
        const bool is_apart = is_first || extent.offset > end;
        if (!is_apart || extent.length == 0 || extent.offset > node.size ||
            extent.length > node.size - extent.offset) {
            return false;
        }
        end = extent.offset + extent.length;
        is_first = false;
    }
    return true;
}

bool are_sound(const std::vector<TreeAttribute>& attributes) {
    const bool is_sorted =
        std::ranges::adjacent_find(
            attributes, std::ranges::greater_equal{}, &TreeAttribute::name) == attributes.end();
    return is_sorted && attributes.size() <= kMaxTreeAttributes &&
           std::ranges::all_of(attributes, [](const TreeAttribute& one) {
               return is_carried(one.name) && one.value.size() <= kMaxAttributeBytes;
           });
}

bool is_sound_text(const std::string& text) {
    return !text.empty() && text.size() <= kMaxLinkTextBytes &&
           text.find('\0') == std::string::npos;
}

void put_short(ByteWriter& writer, std::string_view text) {
    writer.u8(static_cast<std::uint8_t>(text.size())).raw(as_bytes(text));
}

std::string take_text(ByteReader& reader, std::size_t length) {
    return std::string{as_text(reader.raw(length))};
}

void put_common(ByteWriter& writer, const TreeNode& node) {
    writer.u16(node.mode).u32(node.uid).u32(node.gid);
    writer.u64(static_cast<std::uint64_t>(node.mtime.seconds)).u32(node.mtime.nanoseconds);
    writer.u8(static_cast<std::uint8_t>(node.attributes.size()));
    for (const TreeAttribute& attribute : node.attributes) {
        put_short(writer, attribute.name);
        writer.blob(attribute.value);
    }
}

void take_common(ByteReader& reader, TreeNode& node) {
    node.mode = reader.u16();
    node.uid = reader.u32();
    node.gid = reader.u32();
    node.mtime.seconds = static_cast<std::int64_t>(reader.u64());
    node.mtime.nanoseconds = reader.u32();
    const std::size_t count = reader.u8();
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        TreeAttribute attribute;
        attribute.name = take_text(reader, reader.u8());
        const Bytes value = reader.blob(kMaxAttributeBytes);
        attribute.value.assign(value.begin(), value.end());
        node.attributes.push_back(std::move(attribute));
    }
}

void take_extents(ByteReader& reader, TreeNode& node) {
    const std::size_t count = reader.u32();
    if (count > kMaxTreeExtents || count > reader.left() / 16) {
        reader.fail();
        return;
    }
    node.extents.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t offset = reader.u64();
        node.extents.push_back({.offset = offset, .length = reader.u64()});
    }
}

void take_own(ByteReader& reader, TreeNode& node) {
    if (node.is_file()) {
        node.size = reader.u64();
    }
    if (node.kind == TreeKind::sparse) {
        take_extents(reader, node);
    }
    if (node.kind == TreeKind::symlink) {
        node.text = take_text(reader, reader.u16());
    }
}

}  // namespace

std::uint64_t TreeNode::data_bytes() const {
    if (kind == TreeKind::file) {
        return size;
    }
    std::uint64_t sum = 0;
    for (const TreeExtent& extent : extents) {
        sum += extent.length;
    }
    return sum;
}

std::uint64_t TreeNode::room() const {
    std::uint64_t sum = 0;
    for (const TreeAttribute& attribute : attributes) {
        sum += attribute.value.size();
    }
    sum = sum > kInlineBytes ? rounded(sum) : 0;
    if (kind == TreeKind::directory) {
        return sum + kDiskBlockBytes;
    }
    if (kind == TreeKind::symlink) {
        return sum + (text.size() > kInlineBytes ? kDiskBlockBytes : 0);
    }
    if (kind == TreeKind::file) {
        return sum + rounded(size);
    }
    for (const TreeExtent& extent : extents) {
        sum += rounded(extent.length);
    }
    return sum;
}

std::vector<FilePiece> file_pieces(const TreeNode& file,
                                   std::uint64_t offset,
                                   std::size_t length) {
    const std::vector<TreeExtent> whole{{.offset = 0, .length = file.size}};
    std::vector<FilePiece> pieces;
    std::uint64_t at = 0;  // The offset of the extent in what is sent.
    for (const TreeExtent& extent : file.kind == TreeKind::sparse ? file.extents : whole) {
        const std::size_t done =
            pieces.empty() ? 0 : pieces.back().begin + pieces.back().length;
        const std::uint64_t from = offset + done;
        if (done < length && from < at + extent.length) {
            const auto count = static_cast<std::size_t>(
                std::min<std::uint64_t>(length - done, at + extent.length - from));
            pieces.push_back(
                {.offset = extent.offset + (from - at), .begin = done, .length = count});
        }
        at += extent.length;
    }
    return pieces;
}

TreeNode node_of(const ManifestEntry& entry) {
    TreeNode node;
    node.kind = TreeKind::file;
    node.size = entry.size;
    if (!entry.shape.empty()) {
        ByteReader reader{entry.shape};
        node = take_node(reader);
    }
    node.mode = entry.mode;
    node.uid = entry.uid;
    node.gid = entry.gid;
    node.mtime = entry.mtime;
    return node;
}

std::vector<std::byte> shape_of(const TreeNode& file) {
    if (file.kind == TreeKind::file && file.attributes.empty()) {
        return {};
    }
    TreeNode shape = file;
    shape.name.clear();
    shape.parent = 0;
    ByteWriter writer;
    put_node(writer, shape);
    return writer.take();
}

bool has_sound_shape(const ManifestEntry& entry) {
    if (entry.shape.empty()) {
        return true;
    }
    ByteReader reader{entry.shape};
    const TreeNode node = take_node(reader);
    return reader.finished() && node.is_file() && node.name.empty() && node.parent == 0 &&
           node.data_bytes() == entry.size && !entry.is_tree();
}

bool is_carried(std::string_view attribute) {
    return (attribute.starts_with("user.") && attribute.size() <= kMaxFileNameBytes &&
            attribute.size() > 5 && attribute.find('\0') == std::string_view::npos) ||
           attribute == "system.posix_acl_access" || attribute == "system.posix_acl_default";
}

std::string_view reason_against(const TreeNode& node) {
    if (node.mode > 07777 || node.mtime.nanoseconds >= kNanosecondsPerSecond) {
        return "an invalid mode or time";
    }
    if (!are_sound(node.attributes)) {
        return "attributes that are not staged";
    }
    if (node.size > kMaxFileBytes || node.extents.size() > kMaxTreeExtents ||
        !lie_in_order(node) || node.data_bytes() > kMaxTreeBytes) {
        return "a size above the limit";
    }
    if (node.kind == TreeKind::symlink && !is_sound_text(node.text)) {
        return "a link without a target";
    }
    return {};
}

void put_node(ByteWriter& writer, const TreeNode& node) {
    writer.u8(static_cast<std::uint8_t>(node.kind)).u32(node.parent);
    put_short(writer, node.name);
    if (node.kind == TreeKind::hard_link) {
        writer.u32(node.original);
        return;
    }
    put_common(writer, node);
    if (node.is_file()) {
        writer.u64(node.size);
    }
    if (node.kind == TreeKind::sparse) {
        writer.u32(static_cast<std::uint32_t>(node.extents.size()));
        for (const TreeExtent& extent : node.extents) {
            writer.u64(extent.offset).u64(extent.length);
        }
    }
    if (node.kind == TreeKind::symlink) {
        writer.u16(static_cast<std::uint16_t>(node.text.size())).raw(as_bytes(node.text));
    }
}

TreeNode take_node(ByteReader& reader) {
    TreeNode node;
    const std::uint8_t kind = reader.u8();
    node.parent = reader.u32();
    node.name = take_text(reader, reader.u8());
    if (kind > static_cast<std::uint8_t>(TreeKind::hard_link)) {
        reader.fail();
        return node;
    }
    node.kind = static_cast<TreeKind>(kind);
    if (node.kind == TreeKind::hard_link) {
        node.original = reader.u32();
        return node;
    }
    take_common(reader, node);
    take_own(reader, node);
    if (!reason_against(node).empty()) {
        reader.fail();
    }
    return node;
}

}  // namespace stage
