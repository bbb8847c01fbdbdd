#include "stager/files/targets/program_choice.h"

#include "stager/files/target/target_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <map>

namespace stage {
namespace {

/// What stands at the destinations of one program, and what comes.
struct Compared {
    FileTime newest_there;
    FileTime newest;
    bool has_program = false;
    bool has_all = true;
};

bool is_compared(const SinkOrder& order) {
    return order.is_of_program && (order.target.existing == Existing::newer ||
                                   order.target.existing == Existing::keep);
}

void add(Compared& program, const ManifestEntry& entry, const SinkOrder& order) {
    program.newest = std::max(program.newest, entry.mtime);
    struct stat there {};
    if (::lstat(order.target.place.path().c_str(), &there) != 0) {
        program.has_all = false;
        return;
    }
    const bool is_first = !program.has_program;
    program.has_program = program.has_program || !order.is_library;
    program.newest_there =
        is_first ? mtime_of(there) : std::max(program.newest_there, mtime_of(there));
}

void choose(const Compared& program, SinkOrder& order) {
    const bool is_no_older_one = is_no_older(program.newest_there, program.newest);
    const bool is_newer = program.newest_there > program.newest;
    const bool is_left =
        program.has_program && (order.target.existing == Existing::keep || is_newer ||
                                (program.has_all && is_no_older_one));
    if (is_left) {
        order.target.existing = Existing::keep;
    } else if (order.is_library || order.target.existing == Existing::newer) {
        order.target.existing = Existing::newer;
        order.target.is_newer = true;
    }
}

}  // namespace

void choose_programs(const Manifest& manifest, std::vector<SinkOrder>& orders) {
    std::map<std::uint16_t, Compared> programs;
    for (std::size_t index = 0; index < orders.size(); ++index) {
        if (is_compared(orders[index])) {
            const ManifestEntry& entry = manifest.entries[index];
            Compared& program =
                programs.try_emplace(entry.spec, Compared{entry.mtime, entry.mtime})
                    .first->second;
            add(program, entry, orders[index]);
        }
    }
    for (std::size_t index = 0; index < orders.size(); ++index) {
        if (is_compared(orders[index])) {
            choose(programs.at(manifest.entries[index].spec), orders[index]);
        }
    }
}

}  // namespace stage
