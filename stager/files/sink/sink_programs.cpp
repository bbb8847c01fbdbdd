// What a sink does with a program and its libraries, which are several entries and one thing.
#include "stager/files/libraries/library_links.h"
#include "stager/files/libraries/library_places.h"
#include "stager/files/sink/file_sink.h"
#include "stager/spec/destination.h"

#include <sys/stat.h>

#include <algorithm>

namespace stage {
namespace {

/// What stands at the destinations of one program, and what comes.
struct Weighed {
    FileTime newest_there;
    FileTime newest;
    bool has_program = false;
    bool has_all = true;
};

/// The stage directory of the job, if `directory` is a step's; else empty.
std::string job_directory_of(const std::string& directory) {
    const std::size_t slash = directory.rfind('/');
    const bool is_steps =
        slash != std::string::npos && directory.substr(slash + 1).starts_with(kStepPrefix);
    return is_steps ? directory.substr(0, slash) : "";
}

bool is_weighed(const SinkOrder& order) {
    return order.is_of_program && (order.target.existing == Existing::newer ||
                                   order.target.existing == Existing::keep);
}

}  // namespace

/// `newer` replaces a program with all its libraries, or leaves them all, as it does with the
/// members of a directory: versions are never mixed. `keep` leaves libraries of a program that
/// is there; where it is not, they are of another version.
void FileSink::weigh_programs(std::vector<SinkOrder>& orders) const {
    std::map<std::uint16_t, Weighed> programs;
    for (std::size_t index = 0; index < orders.size(); ++index) {
        if (!is_weighed(orders[index])) {
            continue;
        }
        const ManifestEntry& entry = manifest_->entries[index];
        Weighed& program =
            programs.try_emplace(entry.spec, Weighed{entry.mtime, entry.mtime}).first->second;
        program.newest = std::max(program.newest, entry.mtime);
        struct stat there {};
        if (::lstat(orders[index].target.place.path().c_str(), &there) != 0) {
            program.has_all = false;
            continue;
        }
        const bool is_first = !program.has_program;
        program.has_program = program.has_program || !orders[index].is_library;
        program.newest_there =
            is_first ? mtime_of(there) : std::max(program.newest_there, mtime_of(there));
    }
    for (std::size_t index = 0; index < orders.size(); ++index) {
        if (!is_weighed(orders[index])) {
            continue;
        }
        const Weighed& program = programs.at(manifest_->entries[index].spec);
        const bool is_as_new = program.has_all && program.newest_there == program.newest;
        const bool is_left =
            program.has_program && (orders[index].target.existing == Existing::keep ||
                                    is_as_new || program.newest_there > program.newest);
        if (is_left) {
            orders[index].target.existing = Existing::keep;
        } else if (orders[index].is_library ||
                   orders[index].target.existing == Existing::newer) {
            orders[index].target.existing = Existing::newer;
            orders[index].target.is_newer = true;
        }
    }
}

/// A path that nothing here serves, unless another file of this stage comes there.
Status FileSink::check_needed_paths() {
    for (std::size_t index = 0; index < places_.size(); ++index) {
        const std::vector<std::string> needed = places_[index].needed_paths;
        struct stat there {};
        const auto missing = std::ranges::find_if(needed, [&](const std::string& one) {
            return ::stat(one.c_str(), &there) != 0 && !paths_.contains(one);
        });
        if (!places_[index].target || missing == needed.end()) {
            continue;
        }
        Status ended = give_up(
            index,
            Error{Blame::user,
                  path(index) + ": the program needs " + *missing +
                      " at this very path, and it is not on this node"}
                .remedy(
                    "stage it there, too, or install it on the nodes; libs can't bring it"));
        if (!ended) {
            return ended;
        }
    }
    return {};
}

void FileSink::give_up_program(std::uint16_t spec) {
    given_up_.insert(spec);
    for (std::size_t index = 0; index < places_.size(); ++index) {
        Place& place = places_[index];
        if (place.is_of_program && manifest_->entries[index].spec == spec && place.target &&
            !place.is_named) {
            place.target.reset();
        }
    }
    made_.erase(spec);
}

Status FileSink::link_libraries() {
    std::map<std::uint16_t, std::size_t> programs;
    std::set<std::uint16_t> linked;
    for (std::size_t index = 0; index < places_.size(); ++index) {
        const Place& place = places_[index];
        const std::uint16_t spec = manifest_->entries[index].spec;
        if (config_.list_directory.empty() || !place.is_of_program || !place.target) {
            continue;
        }
        if (!place.is_library) {
            programs.emplace(spec, index);
            continue;
        }
        const bool is_first = programs.contains(spec) && linked.insert(spec).second;
        Status done = is_first ? link_libraries_of(programs.at(spec), index) : Status{};
        if (!done) {
            return done;
        }
    }
    return {};
}

/// A step's program may stand beside one of the job's, which the job's stage linked to.
Status FileSink::check_jobs_libraries(int directory, std::size_t library) const {
    const std::string job = job_directory_of(config_.list_directory);
    const std::vector<std::string> jobs =
        job.empty() ? std::vector<std::string>{} : linked_from(job, directory);
    for (std::size_t index = library; index < places_.size(); ++index) {
        const bool is_its = manifest_->entries[index].spec == manifest_->entries[library].spec;
        const std::string path = is_its ? this->path(index) : "";
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
Status FileSink::link_libraries_of(std::size_t program, std::size_t library) {
    const std::string path = this->path(library);
    const Target* target = use(program);
    if (Status awake = target->wake(); !awake) {
        return awake;
    }
    const int directory = target->directory().fd.get();
    if (Status apart = check_jobs_libraries(directory, library); !apart) {
        return std::move(apart).error();
    }
    const LibraryLink link{.number = manifest_->entries[library].spec,
                           .directory = path.substr(0, path.rfind('/')),
                           .origin = places_[library].is_for_all ? -1 : directory};
    Result<std::string> entry = link_to_libraries(config_.list_directory, link);
    if (!entry) {
        return std::move(entry).error();
    }
    library_paths_.push_back(*std::move(entry) + '/');
    return {};
}

}  // namespace stage
