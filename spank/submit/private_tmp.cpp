#include "spank/submit/private_tmp.h"

#include "stager/control/message.h"
#include "stager/spec/list_lines.h"

#include <fstream>
#include <sstream>

namespace stage {
namespace {

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
    std::ostringstream whole;
    whole << std::ifstream{spec.source}.rdbuf();
    const std::string text = whole.str();
    for (const ListLine& line : lines_in(text)) {
        const auto entry = parse_spec(line.text);  // The worker reports malformed lines.
        const Status seen = entry ? check_place(entry->destination) : Status{};
        if (!seen) {
            return seen.error().within(printable(spec.source) + ", line " +
                                       std::to_string(line.number));
        }
    }
    return {};
}

}  // namespace stage
