// Fuzzes manifests: an accepted one assigns every block to a file.
//
// Under protection `none` anybody can forge one.
#include "stager/files/manifest/manifest.h"

#include "stager/files/manifest/tree_node.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

/// Where block `at` of an entry lies: an index's blocks are whole but the last, then the
/// data's.
std::uint64_t offset_of(const ManifestEntry& entry, std::uint32_t at) {
    const std::uint64_t index = entry.index_bytes;
    const std::uint64_t index_blocks = (index + kBlockBytes - 1) / kBlockBytes;
    return at < index_blocks ? std::uint64_t{at} * kBlockBytes
                             : index + (at - index_blocks) * kBlockBytes;
}

/// The blocks of an entry are its own from the first to the last, whole but the last.
void check_entry(const Manifest& manifest, std::size_t index) {
    const ManifestEntry& entry = manifest.entries[index];
    invariant(
        entry.name.find('/') == std::string::npos && entry.name != ".." && !entry.name.empty(),
        "a name is a name in a directory");
    const std::uint32_t count = entry.block_count();
    if (count == 0) {
        return;
    }
    const std::uint32_t first = entry.first_block.value();
    const std::uint64_t end = entry.index_bytes + entry.size;
    const TreeNode node = node_of(entry);
    invariant(entry.is_tree() || node.data_bytes() == entry.size,
              "what is sent is of the file");
    for (const std::uint32_t at : {0U, count / 2, count - 1}) {
        const auto place = find_block(manifest, BlockIndex{first + at});
        invariant(place && place->entry == index, "a block is its file's");
        invariant(place->offset == offset_of(entry, at), "blocks stand in order");
        invariant(place->length > 0 && place->offset + place->length <= end &&
                      (at != count - 1 || place->offset + place->length == end),
                  "a file's blocks are the whole file");
    }
}

void check(const Manifest& manifest) {
    const std::uint32_t own = manifest.own_block_count();
    const std::uint32_t all = manifest.block_count();
    invariant(own >= 1 && own <= all, "a manifest has blocks, and is part of the object");
    invariant(!find_block(manifest, BlockIndex{0}), "a manifest's block is no file's");
    invariant(!find_block(manifest, BlockIndex{own - 1}), "a manifest's block is no file's");
    invariant(!find_block(manifest, BlockIndex{all}),
              "blocks beyond the end belong to no file");
    for (std::size_t index = 0; index < manifest.entries.size(); ++index) {
        check_entry(manifest, index);
    }
}

}  // namespace

bool fuzz_one(Bytes input) {
    return is_stable(input, decode_manifest, [](const Manifest& manifest) {
        check(manifest);
        auto bytes = encode_manifest(manifest);
        invariant(manifest_length(bytes) == bytes.size(), "a manifest tells its length");
        return bytes;
    });
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto laid_out = [](std::vector<ManifestEntry> entries) {
        Manifest manifest{std::move(entries)};
        invariant(manifest.lay_out().ok(), "a few files fit an object");
        return encode_manifest(manifest);
    };
    ManifestEntry file;
    file.name = "input.dat";
    file.size = (5ULL << 20U) + 17;
    file.mode = 0644;
    file.uid = 1000;
    file.gid = 100;
    file.mtime = {.seconds = 1'700'000'000, .nanoseconds = 123'456'789};
    ManifestEntry empty = file;
    empty.spec = 1;
    empty.name = "empty";
    empty.size = 0;
    ManifestEntry missing = empty;
    missing.spec = 2;
    missing.trouble = "/shared/x: No such file or directory";
    ManifestEntry listed = file;
    listed.spec = 3;
    listed.line = "1;-,/shared/input.dat,sub/";
    ManifestEntry tree = file;
    tree.spec = 4;
    tree.index_bytes = (1U << 20U) + 100;
    tree.room = 6U << 20U;
    tree.inodes = 12;
    TreeNode holes;
    holes.kind = TreeKind::sparse;
    holes.size = 1ULL << 40U;
    holes.extents = {{.offset = 4096, .length = 4096}, {.offset = 65536, .length = 1}};
    holes.attributes = {{.name = "user.x", .value = owned("y")}};
    ManifestEntry sparse = file;
    sparse.spec = 5;
    sparse.size = holes.data_bytes();
    sparse.shape = shape_of(holes);
    ManifestEntry known = file;
    known.spec = 6;
    known.stamp.assign(32, std::byte{7});
    known.content.assign(48, std::byte{8});
    return {{"one_file", laid_out({file})},
            {"known_file", laid_out({known, file})},
            {"with_holes", laid_out({file, sparse})},
            {"no_file", laid_out({})},
            {"all_kinds", laid_out({file, empty, missing, listed, tree, file})}};
}

}  // namespace stage
