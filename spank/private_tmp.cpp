#include "spank/private_tmp.h"

#include "stager/control/message.h"

#include <fstream>

namespace stage {
namespace {

/// A longer list is not read here; nobody writes one by hand.
constexpr std::size_t kMaxLines = 100'000;

Status check_place(const std::string& destination) {
    for (const std::string place : {"/tmp", "/dev/shm"}) {
        if (destination == place || destination.starts_with(place + '/')) {
            return Error{Blame::user,
                         printable(destination) + ": on this cluster each job has a " + place +
                             " of its own (job_container/tmpfs), and would not see the file"}
                .remedy(
                    "leave DST out, the file is then in $STAGECAST_DIR, or name a directory "
                    "that the node's jobs share");
        }
    }
    return {};
}

}  // namespace

Status check_private_tmp(const StageSpec& spec) {
    if (!spec.is_list) {
        return check_place(spec.destination);
    }
    std::ifstream list{spec.source};
    std::string line;
    for (std::size_t count = 0; count < kMaxLines && std::getline(list, line); ++count) {
        const auto entry = parse_spec(line);  // The worker judges lines that are none.
        const Status seen = entry ? check_place(entry->destination) : Status{};
        if (!seen) {
            return seen.error().within(printable(spec.source));
        }
    }
    return {};
}

}  // namespace stage
