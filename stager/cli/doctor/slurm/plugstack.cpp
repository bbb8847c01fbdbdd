#include "stager/cli/doctor/slurm/plugstack.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace stage {
namespace {

/// The limit of nested includes.
constexpr int kDepthMax = 8;

std::vector<std::string> files_of(const std::string& pattern, const std::string& beside) {
    const std::string whole =
        pattern.starts_with('/') ? pattern : beside.substr(0, beside.rfind('/') + 1) + pattern;
    glob_t found{};
    std::vector<std::string> files;
    if (::glob(whole.c_str(), 0, nullptr, &found) == 0) {
        files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    ::globfree(&found);
    return files;
}

void find(const std::string& path, int depth, std::optional<PlugstackLine>& found) {
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);) {
        std::istringstream words{line.substr(0, line.find('#'))};
        std::string first;
        std::string second;
        words >> first >> second;
        if (first == "include" && depth < kDepthMax) {
            for (const std::string& included : files_of(second, path)) {
                find(included, depth + 1, found);
            }
        } else if (second.ends_with("stagecast.so")) {
            if (found) {
                found->again = path;
                return;
            }
            found = PlugstackLine{.file = path,
                                  .plugin = second,
                                  .again = "",
                                  .is_required = first == "required"};
        }
    }
}

}  // namespace

std::string plugstack_path(const std::string& named,
                           const std::vector<std::string>& slurm_confs) {
    if (named.starts_with('/')) {
        return named;
    }
    const auto found = std::ranges::find_if(slurm_confs, [](const std::string& path) {
        return path.starts_with('/') && ::access(path.c_str(), F_OK) == 0;
    });
    return found == slurm_confs.end() ? ""
                                      : found->substr(0, found->rfind('/')) + "/plugstack.conf";
}

Result<std::optional<PlugstackLine>> find_in_plugstack(const std::string& path) {
    if (!std::ifstream{path}) {
        return Error{Blame::node, path + " can't be read"}.remedy(
            "make it, with the line: include /etc/slurm/plugstack.conf.d/*.conf");
    }
    std::optional<PlugstackLine> found;
    find(path, 0, found);
    return found;
}

}  // namespace stage
