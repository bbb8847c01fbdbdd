// Fuzzes directory indexes: an accepted one stays below its top and assigns every byte to a
// file.
//
// Under protection `none` anybody can forge one.
#include "stager/files/manifest/tree_index.h"

#include "tests/fuzz/fuzz.h"

#include <set>

namespace stage {
namespace {

void check_node(const TreeIndex& index, std::uint32_t at, std::set<std::string>& paths) {
    const TreeNode node = index.node(at);
    invariant(node.parent < at, "a directory stands before its members");
    invariant(index.kind(node.parent) == TreeKind::directory, "members are in directories");
    invariant(is_plain_name(node.name), "a name is a name in a directory");
    if (node.kind == TreeKind::hard_link) {
        invariant(node.original < at && index.node(node.original).is_file(),
                  "a hard link has a file before it");
    }
    constexpr std::size_t kFew = 512;  // A path is as long as its tree is deep.
    if (index.size() <= kFew) {
        invariant(paths.insert(index.path(at)).second, "no two members have one path");
    }
}

/// The data's owners follow one another from the first to the last byte.
void check_pieces(const TreeIndex& index) {
    constexpr std::uint64_t kWindow = 64;
    const std::uint64_t all = index.data_bytes();
    for (const std::uint64_t from : {std::uint64_t{0}, all / 2, all - std::min(all, kWindow)}) {
        const std::uint64_t length = std::min(kWindow, all - from);
        std::size_t done = 0;
        for (const TreePiece& piece : index.pieces(from, length)) {
            const TreeNode file = index.node(piece.node);
            invariant(file.is_file() && piece.begin == done && piece.length > 0,
                      "pieces are files' and follow one another");
            invariant(piece.offset + piece.length <= file.size, "a piece lies in its file");
            done += piece.length;
        }
        invariant(done == length, "every byte is a file's");
    }
}

}  // namespace

bool fuzz_one(Bytes input) {
    const Result<TreeIndex> index = TreeIndex::decode(owned(input));
    if (!index) {
        return false;
    }
    std::set<std::string> paths;
    TreeIndex again;
    for (std::uint32_t i = 0; i < index->size(); ++i) {
        if (i > 0) {
            check_node(*index, i, paths);
        }
        invariant(again.add(index->node(i)).ok(), "what is decoded can be built");
    }
    invariant(again.size() == index->size() && again.data_bytes() == index->data_bytes() &&
                  again.room() == index->room() && again.inodes() == index->inodes(),
              "what is built again is the same");
    check_pieces(*index);
    return true;
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto node = [](TreeKind kind, std::uint32_t parent, std::string name) {
        TreeNode one;
        one.kind = kind;
        one.parent = parent;
        one.name = std::move(name);
        one.mode = 0640;
        one.mtime = {.seconds = 1'700'000'000, .nanoseconds = 123'456'789};
        return one;
    };
    TreeNode file = node(TreeKind::file, 1, "f");
    file.size = 5000;
    file.attributes = {{.name = "user.x", .value = owned("y")}};
    TreeNode holes = node(TreeKind::sparse, 1, "s");
    holes.size = 1ULL << 40U;
    holes.extents = {{.offset = 4096, .length = 4096}, {.offset = 65536, .length = 1}};
    TreeNode link = node(TreeKind::symlink, 0, "l");
    link.text = "../../etc/passwd";
    TreeNode again = node(TreeKind::hard_link, 1, "h");
    again.original = 3;
    const auto index_of = [](const std::vector<TreeNode>& nodes) {
        TreeIndex index;
        for (const TreeNode& one : nodes) {
            invariant(index.add(one).ok(), "a seed is an index");
        }
        return owned(index.bytes());
    };
    const TreeNode top = node(TreeKind::directory, 0, "");
    return {{"empty", index_of({top})},
            {"all_kinds",
             index_of({top, node(TreeKind::directory, 0, "d"), link, file, again, holes})}};
}

}  // namespace stage
