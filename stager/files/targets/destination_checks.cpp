#include "stager/files/targets/destination_checks.h"

#include "stager/files/targets/room_needed.h"

#include <sys/stat.h>

#include <algorithm>

namespace stage {

Status check_nesting(const SinkTargets& targets) {
    for (std::size_t index = 0; index < targets.size(); ++index) {
        const Target* target = targets[index].target.get();
        if (target == nullptr || !target->is_directory()) {
            continue;
        }
        const std::string below = target->path() + '/';
        const auto next = targets.paths().lower_bound(below);
        if (next != targets.paths().end() && next->starts_with(below)) {
            return Error{Blame::user, *next + ": lies in a directory that is staged, too"}
                .remedy("give one of them another destination, as in SRC:DST");
        }
    }
    return {};
}

Status check_needed_paths(SinkTargets& targets) {
    for (std::size_t index = 0; index < targets.size(); ++index) {
        const std::vector<std::string>& needed = targets[index].needed_paths;
        struct stat there {};
        const auto missing = std::ranges::find_if(needed, [&](const std::string& one) {
            return ::stat(one.c_str(), &there) != 0 && !targets.paths().contains(one);
        });
        if (!targets[index].target || missing == needed.end()) {
            continue;
        }
        Status ended = targets.give_up(
            index,
            Error{Blame::user,
                  targets.path(index) + ": the program needs " + *missing +
                      " at this very path, and it is not on this node"}
                .remedy(
                    "stage it there, too, or install it on the nodes; libs can't bring it"));
        if (!ended) {
            return ended;
        }
    }
    return {};
}

Status check_room(SinkTargets& targets) {
    RoomNeeded needed;
    for (const bool is_optional : {false, true}) {
        for (std::size_t index = 0; index < targets.size(); ++index) {
            if (!targets[index].target || targets[index].is_optional != is_optional) {
                continue;
            }
            Status fits = needed.add(*targets[index].target);
            if (!fits) {
                fits = targets.give_up(index, std::move(fits).error());
            }
            if (!fits) {
                return fits;
            }
        }
    }
    return {};
}

}  // namespace stage
