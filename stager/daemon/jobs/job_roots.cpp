#include "stager/daemon/jobs/job_roots.h"

#include "stager/daemon/jobs/job_directory.h"

namespace stage {

Result<int> JobRoots::borrow(Result<UniqueFd> root) {
    if (!root) {
        return std::move(root).error();
    }
    root_ = *std::move(root);
    return root_.get();
}

Result<int> JobRoots::current() {
    return borrow(open_stage_root(config_.stage_root, config_.allow_ram_stage_root));
}

Result<int> JobRoots::to_stage(std::uint32_t job_id) {
    const auto before = store_.root_of(job_id);
    if (before && *before != config_.stage_root) {
        auto root = find_stage_root(*before);
        if (root && !is_gone(owner_of(root->get(), job_id))) {
            return borrow(std::move(root));
        }
    }
    auto root = current();
    if (root && before != config_.stage_root) {
        // In memory it is stored at least; a daemon with another StageRoot would miss it.
        static_cast<void>(store_.save_root(job_id, config_.stage_root).ok());
    }
    return root;
}

Result<int> JobRoots::to_remove(std::uint32_t job_id) {
    const auto before = store_.root_of(job_id);
    return before ? borrow(find_stage_root(*before)) : current();
}

std::string job_directory(const Config& config,
                          const VerdictStore& store,
                          std::uint32_t job_id) {
    return store.root_of(job_id).value_or(config.stage_root) + "/" + std::to_string(job_id);
}

}  // namespace stage
