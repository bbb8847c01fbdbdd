#include "stager/worker/requests/destinations.h"

#include "stager/control/message.h"
#include "stager/spec/destination.h"

namespace stage {
namespace {

std::string named(const StageSpec& spec, const std::string& where) {
    return "'" + printable(spec.source) + "'" + (where.empty() ? "" : " (" + where + ")");
}

}  // namespace

std::string line_of(const std::string& list, std::size_t number) {
    return printable(list) + ", line " + std::to_string(number);
}

Result<bool> Destinations::take(const std::string& path,
                                const StageSpec& spec,
                                const std::string& where) {
    const auto [place, is_new] = claims_.try_emplace(path, Claim{spec, where});
    if (is_new) {
        return true;
    }
    const Claim& other = place->second;
    if (are_equal(other.spec, spec)) {
        return false;
    }
    return Error{Blame::user,
                 named(other.spec, other.where) + " and " + named(spec, where) +
                     " have one destination, '" + printable(path) + "'"}
        .remedy(
            "give one of them another destination, as in SRC:DST, or the same flags to both "
            "if they are the same file");
}

Status Destinations::check_nesting() const {
    for (const auto& [path, claim] : claims_) {
        for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
             slash = path.rfind('/', slash - 1)) {
            const auto above = claims_.find(path.substr(0, slash));
            if (above == claims_.end()) {
                continue;
            }
            return Error{Blame::user,
                         named(above->second.spec, above->second.where) + " and " +
                             named(claim.spec, claim.where) +
                             " exclude each other: one lies in what the other writes, '" +
                             printable(above->first) + "'"}
                .remedy("give one of them another destination, as in SRC:DST");
        }
    }
    return {};
}

}  // namespace stage
