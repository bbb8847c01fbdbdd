#include "stager/daemon/cache/cache_directory.h"

#include "stager/cache/store.h"
#include "stager/daemon/jobs/job_directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace stage {
namespace {

/// No component of either path may be a symbolic link, so comparing the texts is enough.
bool lies_in(const std::string& path, const std::string& directory) {
    const std::filesystem::path outer =
        (std::filesystem::path{directory} / "").lexically_normal().parent_path();
    const std::filesystem::path inner =
        (std::filesystem::path{path} / "").lexically_normal().parent_path();
    return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace

Result<UniqueFd> look_at_cache_directory(const Config& config) {
    const std::string& path = config.cache_dir;
    if (lies_in(path, config.stage_root) || lies_in(config.stage_root, path)) {
        return Error{Blame::node,
                     "CacheDir: " + path + " and StageRoot, " + config.stage_root +
                         ", must not lie in one another"}
            .remedy("set CacheDir to a directory outside StageRoot");
    }
    Result<UniqueFd> directory = open_stage_root(path, config.allow_ram_stage_root);
    if (!directory) {
        return std::move(directory).error().within(
            "CacheDir must meet the same conditions as StageRoot");
    }
    if (const auto foreign = CacheStore::foreign_name_in(*directory)) {
        return Error{Blame::node,
                     "CacheDir: " + path + " holds " + *foreign +
                         ", which the node cache did not put there"}
            .remedy("set CacheDir to an empty directory");
    }
    return directory;
}

Result<UniqueFd> open_cache_directory(const Config& config) {
    Result<UniqueFd> directory = look_at_cache_directory(config);
    if (directory && ::fchmod(directory->get(), 0700) != 0) {
        return Error::from_errno(Blame::node,
                                 "setting mode 0700 on CacheDir " + config.cache_dir);
    }
    return directory;
}

}  // namespace stage
