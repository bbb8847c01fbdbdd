// Fuzzes serialised specs: those that a node accepts keep all rules.
#include "stager/spec/spec_list.h"

#include "stager/control/message.h"
#include "stager/spec/destination.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

void check(const StageSpec& spec) {
    invariant(spec.source.starts_with('/'), "a source that has travelled is absolute");
    invariant(reason_against(spec).empty(), "a spec that is accepted is one");
    const auto place = destination_of(spec);
    invariant(static_cast<bool>(place), "a spec that is accepted has a place");
    if (spec.is_list) {
        return;
    }
    const std::string path = placed(*place, "/stage") + '/';
    invariant(place->is_absolute || path.starts_with("/stage/"), "a place is below its stage");
    invariant(path.find("/../") == std::string::npos, "a place does not go up");
    invariant(path.find("//") == std::string::npos, "a place is written in one way");
    invariant(path.size() <= kMaxPathBytes + std::string_view{"/stage/"}.size(),
              "a place is a path");
    invariant(path.find('\0') == std::string::npos, "a place is a C string");
}

}  // namespace

bool fuzz_one(Bytes input) {
    return is_stable(
        input,
        [](Bytes bytes) { return parse_serialized(text_of(bytes)); },
        [](const std::vector<StageSpec>& specs) {
            invariant(!specs.empty() && specs.size() <= kMaxSpecs, "specs are some, not many");
            std::for_each(specs.begin(), specs.end(), check);
            const auto line = serialize(specs);
            invariant(static_cast<bool>(line), "what was read may be written");
            return owned(*line);
        });
}

std::vector<FuzzSeed> fuzz_seeds() {
    const StageSpec plain{.source = "/shared/input.dat"};
    const StageSpec odd{.source = "/shared/a b,c;d%e\n", .destination = "sub/dir/"};
    const StageSpec absolute{.source = "/shared/x",
                             .destination = "/tmp/y",
                             .existing = Existing::newer,
                             .is_optional = true,
                             .is_temporary = true,
                             .is_durable = true,
                             .is_late = true};
    const StageSpec list{.source = "/home/alice/list", .is_list = true};
    const auto line_of = [](const std::vector<StageSpec>& specs) {
        return owned(*serialize(specs));
    };
    return {{"plain", line_of({plain})},
            {"odd_names", line_of({odd})},
            {"all_flags", line_of({absolute})},
            {"list", line_of({list})},
            {"many", line_of({plain, odd, absolute, list})}};
}

}  // namespace stage
