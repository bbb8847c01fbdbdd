#include "stager/daemon/jobs/outside.h"

#include "stager/daemon/jobs/job_directory.h"
#include "stager/spec/destination.h"
#include "stager/spec/name_pattern.h"
#include "stager/spec/spec_list.h"

namespace stage {
namespace {

constexpr const char* kAnyPath = "/";

void add_outside(const StageSpec& spec, std::vector<std::string>& outside) {
    if (spec.is_list || has_pattern(spec.source) || has_pattern(spec.destination)) {
        outside.emplace_back(kAnyPath);
        return;
    }
    const Result<Destination> destination = destination_of(spec);
    if (destination && destination->is_absolute) {
        outside.push_back(destination->path);
        if (spec.is_with_libraries) {
            outside.push_back(destination->path + std::string{kLibrariesSuffix});
        }
    }
}

}  // namespace

std::vector<std::string> outside_of(std::string_view specs) {
    std::vector<std::string> outside;
    const Result<std::vector<StageSpec>> parsed = parse_serialized(specs);
    for (const StageSpec& spec : parsed ? *parsed : std::vector<StageSpec>{}) {
        add_outside(spec, outside);
    }
    return outside;
}

Status OutsideFiles::begin(int root, const StageRequest& request) {
    const std::vector<std::string> paths = outside_of(request.specs);
    if (paths.empty()) {
        return {};
    }
    const auto path = directory_names(request.key.job_id, request.key.step_id);
    TRY(auto list, CleanupList::open(root, cleanup_list_name(request.uid, request.gid, path)));
    list_ = std::move(list);
    return list_->add_uses(paths);
}

Status OutsideFiles::on_message(const FromWorker& message) {
    const auto* left = std::get_if<WorkerLeft>(&message);
    const auto* outcome = std::get_if<WorkerOutcome>(&message);
    if (!list_) {
        return {};
    }
    if (left != nullptr) {
        return list_->add(left->entries);
    }
    const bool has_reported_all = outcome != nullptr && outcome->state != VerdictState::failed;
    return has_reported_all ? list_->end_uses() : Status{};
}

}  // namespace stage
