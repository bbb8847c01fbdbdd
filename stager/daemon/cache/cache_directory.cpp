#include "stager/daemon/cache/cache_directory.h"

#include "stager/cache/store.h"
#include "stager/daemon/jobs/job_directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace stage {
namespace {

/// No component of either may be a link, so the texts tell.
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
                         ", lie in one another"}
            .remedy("name a directory beside it");
    }
    Result<UniqueFd> directory = open_stage_root(path, config.allow_ram_stage_root);
    if (!directory) {
        return std::move(directory).error().within("CacheDir must be as fit as StageRoot");
    }
    if (const auto stranger = CacheStore::foreign_name_in(*directory)) {
        return Error{
            Blame::node,
            "CacheDir: " + path + " holds " + *stranger + ", which is not the node cache's"}
            .remedy("name an empty directory");
    }
    return directory;
}

Result<UniqueFd> open_cache_directory(const Config& config) {
    Result<UniqueFd> directory = look_at_cache_directory(config);
    if (directory && ::fchmod(directory->get(), 0700) != 0) {
        return Error::from_errno(Blame::node,
                                 "CacheDir: making " + config.cache_dir + " root's alone");
    }
    return directory;
}

}  // namespace stage
