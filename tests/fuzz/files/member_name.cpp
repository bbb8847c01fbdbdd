// Fuzzes names in archives: an accepted one leads to a place below the top.
//
// It is written by the archive's author.
#include "stager/files/manifest/member_name.h"

#include "stager/files/manifest/manifest.h"
#include "tests/fuzz/fuzz.h"

namespace stage {

bool fuzz_one(Bytes input) {
    const auto parts = member_parts(text_of(input));
    if (!parts) {
        return false;
    }
    std::string again;
    for (const std::string& part : *parts) {
        invariant(is_plain_name(part), "each part is a name in a directory");
        again += part + '/';
    }
    const auto same_parts = member_parts(again);
    invariant(same_parts && *same_parts == *parts, "what is taken is taken again");
    return true;
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {
        {"plain", owned("a/b/c.txt")}, {"top", owned("./")}, {"dots", owned(".//a/./.b/..c/")}};
}

}  // namespace stage
