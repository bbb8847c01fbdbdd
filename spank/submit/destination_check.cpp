#include "spank/submit/destination_check.h"

#include "stager/spec/destination.h"
#include "stager/spec/name_pattern.h"

#include <algorithm>

namespace stage {
namespace {

bool is_below(const std::string& path, const std::string& root) {
    return path.starts_with(root) && (root == "/" || path[root.size()] == '/');
}

std::string joined(const std::vector<std::string>& roots) {
    std::string text;
    for (const std::string& root : roots) {
        text += (text.empty() ? "" : ", ") + root;
    }
    return text;
}

}  // namespace

Status check_destination(const StageSpec& spec, const std::vector<std::string>& roots) {
    const auto destination = destination_of(spec);
    if (roots.empty() || !destination || !destination->is_absolute ||
        has_pattern(spec.destination)) {
        return {};
    }
    // (A root itself gets another message from the node, with what to write instead.)
    const bool is_allowed = std::ranges::any_of(roots, [&](const std::string& root) {
        return destination->path == root || is_below(destination->path, root);
    });
    if (is_allowed) {
        return {};
    }
    return Error{Blame::user,
                 destination->path + ": absolute destinations are not allowed there"}
        .remedy("this site allows them below " + joined(roots) +
                " (DestRoots in this host's stagecast.conf)");
}

}  // namespace stage
