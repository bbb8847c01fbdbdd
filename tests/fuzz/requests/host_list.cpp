// Fuzzes node lists: they expand within their limits, to names that expand to themselves.
#include "stager/slurm/host_list.h"

#include "stager/control/message.h"
#include "tests/fuzz/fuzz.h"

#include <unordered_set>

namespace stage {
namespace {

using Names = std::vector<std::string>;

void check(const Names& names) {
    invariant(!names.empty() && names.size() <= kMaxNodes, "a rank counts them");
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : names) {
        invariant(!name.empty() && name.size() <= kMaxNameBytes, "a name is one");
        invariant(name.find_first_of("[]/ ") == std::string::npos, "a name is plain");
        invariant(seen.insert(name).second, "a name stands there once");
    }
    invariant(position_of(names, names.back()) == names.size() - 1, "a node finds its place");
}

}  // namespace

bool fuzz_one(Bytes input) {
    return is_stable(
        input,
        [](Bytes bytes) { return expand_host_list(text_of(bytes)); },
        [](const Names& names) {
            check(names);
            std::string list;
            for (const std::string& name : names) {
                list += (list.empty() ? "" : ",") + name;
            }
            return owned(list);
        });
}

std::vector<FuzzSeed> fuzz_seeds() {
    return {{"one", owned("n0")},
            {"ranges", owned("n[0-3,7],login1")},
            {"padded", owned("n[08-11]x")},
            {"product", owned("r[0-1]n[0-3,5]s")},
            {"twice", owned("a,b,a,[1-2]")}};
}

}  // namespace stage
