#include "stager/daemon/jobs/library_directories.h"

namespace stage {

void add_library_directories(Verdict& verdict, const std::vector<std::string>& directories) {
    for (const std::string& directory : directories) {
        if (!directory.ends_with('/')) {
            continue;
        }
        verdict.paths.push_back(directory);
        if (!fits(verdict)) {
            verdict.paths.pop_back();
            return;
        }
    }
}

}  // namespace stage
