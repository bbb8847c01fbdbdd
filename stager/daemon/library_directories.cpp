#include "stager/daemon/library_directories.h"

#include "stager/control/destination.h"
#include "stager/control/spec_list.h"

#include <algorithm>

namespace stage {

void add_library_directories(Verdict& verdict, std::string_view specs) {
    if (verdict.paths.empty()) {
        return;
    }
    const Result<std::vector<StageSpec>> parsed = parse_serialized(specs);
    const std::size_t count = parsed ? std::min(parsed->size(), verdict.paths.size()) : 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (!(*parsed)[i].is_with_libraries || verdict.paths[i].empty()) {
            continue;
        }
        verdict.paths.push_back(verdict.paths[i] + std::string{kLibrariesSuffix} + '/');
        if (!fits(verdict)) {
            verdict.paths.pop_back();
            return;
        }
    }
}

}  // namespace stage
