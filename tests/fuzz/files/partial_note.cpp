// Checks that a checkpoint covers each block of its file and no other.
#include "stager/content/part_note.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

using Leaves = std::vector<Digest128>;

constexpr std::uint64_t kSize = 4 * std::uint64_t{kBlockBytes} + 5;
constexpr std::size_t kBlocks = 5;

SourceStamp stamp() {
    SourceStamp stamp{};
    stamp.fill(std::byte{'s'});
    return stamp;
}

Leaves some_leaves() {
    Leaves leaves(kBlocks);
    leaves[1].fill(std::byte{1});
    leaves[4].fill(std::byte{4});
    return leaves;
}

}  // namespace

bool fuzz_one(Bytes input) {
    const auto leaves = decode_note(input, stamp(), kSize);
    if (!leaves) {
        return false;
    }
    invariant(leaves->size() == kBlocks, "a note speaks of its file's blocks");
    const auto again = encode_note(stamp(), kSize, *leaves);
    invariant(decode_note(again, stamp(), kSize) == leaves, "what was read can be written");
    invariant(!decode_note(again, stamp(), kSize + 1), "another file's note is none");
    return true;
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto note = encode_note(stamp(), kSize, some_leaves());
    return {{"whole", note},
            {"cut", owned(Bytes{note}.first(note.size() - 70))},
            {"empty", encode_note(stamp(), kSize, Leaves(kBlocks))}};
}

}  // namespace stage
