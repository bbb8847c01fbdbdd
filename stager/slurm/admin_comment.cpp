#include "stager/slurm/admin_comment.h"

#include <algorithm>

namespace stage {
namespace {

/// (No "|", at which readers of `sacct -P` cut their lines.)
constexpr std::string_view kSeparator = " ; ";
constexpr std::string_view kSignature = "stagecast: ";

/// A file's name may contain the separator.
std::string as_one_part(std::string_view reason) {
    std::string part{reason};
    for (auto at = part.find(kSeparator); at != std::string::npos; at = part.find(kSeparator)) {
        part.replace(at, kSeparator.size(), ", ");
    }
    return part;
}

}  // namespace

std::string with_reason(std::string_view present, std::string_view reason) {
    std::string comment;
    while (!present.empty()) {
        const std::string_view part = present.substr(0, present.find(kSeparator));
        if (!part.starts_with(kSignature)) {
            comment += std::string{part} + std::string{kSeparator};
        }
        present.remove_prefix(std::min(part.size() + kSeparator.size(), present.size()));
    }
    return comment + as_one_part(reason);
}

}  // namespace stage
