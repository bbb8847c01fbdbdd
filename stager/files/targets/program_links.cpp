#include "stager/files/targets/program_links.h"

#include "stager/files/libraries/library_places.h"
#include "stager/spec/destination.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>

namespace stage {
namespace {

/// The stage directory of the job, if `directory` is a step's; else empty.
std::string job_directory_of(const std::string& directory) {
    const std::size_t slash = directory.rfind('/');
    const bool is_steps =
        slash != std::string::npos && directory.substr(slash + 1).starts_with(kStepPrefix);
    return is_steps ? directory.substr(0, slash) : "";
}

}  // namespace

Status ProgramLinks::link(const SinkTargets& targets) {
    std::map<std::uint16_t, std::size_t> programs;
    std::set<std::uint16_t> linked;
    for (std::size_t index = 0; index < targets.size(); ++index) {
        const SinkTarget& one = targets[index];
        if (base_.empty() || !one.is_of_program || !one.target) {
            continue;
        }
        if (!one.is_library) {
            programs.emplace(one.spec, index);
            continue;
        }
        const bool is_first = programs.contains(one.spec) && linked.insert(one.spec).second;
        Status done = is_first ? link_one(targets, programs.at(one.spec), index) : Status{};
        if (!done) {
            return done;
        }
    }
    std::ranges::move(same_, std::back_inserter(paths_));
    same_.clear();
    return {};
}

/// A step's program may stand beside one of the job's, which the job's stage linked to.
Status ProgramLinks::check_jobs(const SinkTargets& targets,
                                int directory,
                                std::size_t library) const {
    const std::string job = job_directory_of(base_);
    const std::vector<std::string> jobs =
        job.empty() ? std::vector<std::string>{} : linked_from(job, directory);
    for (std::size_t index = library; index < targets.size(); ++index) {
        const bool is_its = targets[index].spec == targets[library].spec;
        const std::string path = is_its ? targets.path(index) : "";
        const std::string name = path.substr(path.rfind('/') + 1);
        const auto other = std::ranges::find_if(jobs, [&](const std::string& one) {
            std::string theirs = one + '/';
            theirs += name;
            return have_other_bytes(path, theirs);
        });
        if (other != jobs.end()) {
            const std::string its = *other + '/' + name;
            return Error{Blame::user,
                         path + ": the job has another one for programs in that directory"}
                .remedy("stage the step's program to a directory of its own (" + its + ")");
        }
    }
    return {};
}

/// `library`: the index of the first of the program's.
Status ProgramLinks::link_one(const SinkTargets& targets,
                              std::size_t program,
                              std::size_t library) {
    const std::string path = targets.path(library);
    const Target* target = targets.use(program);
    if (Status awake = target->wake(); !awake) {
        return awake;
    }
    const int directory = target->directory().fd.get();
    if (Status apart = check_jobs(targets, directory, library); !apart) {
        return apart;
    }
    const LibraryLink link{.number = targets[library].spec,
                           .directory = path.substr(0, path.rfind('/')),
                           .origin = targets[library].is_for_all ? -1 : directory};
    TRY(auto entry, link_to_libraries(base_, link));
    paths_.push_back(std::move(entry) + '/');
    return link_same(targets, link, library);
}

/// Copies of one file: every name leads to the first copy.
Status ProgramLinks::link_same(const SinkTargets& targets,
                               const LibraryLink& link,
                               std::size_t library) {
    std::map<std::string, std::string> names;
    for (std::size_t index = library; index < targets.size(); ++index) {
        const SinkTarget& one = targets[index];
        const std::string path = one.spec == targets[library].spec ? targets.path(index) : "";
        if (!path.empty() && !one.same_as.empty()) {
            names[path.substr(path.rfind('/') + 1)] = one.same_as;
            names[one.same_as] = one.same_as;
        }
    }
    if (names.empty()) {
        return {};
    }
    TRY(auto entry, link_to_same(base_, link, names));
    same_.push_back(std::move(entry) + '/');
    return {};
}

}  // namespace stage
