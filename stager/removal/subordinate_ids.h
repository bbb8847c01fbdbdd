// Finds the uids that a user may act as beside the own one.
//
// /etc/subuid (subuid(5)) gives a user ranges of uids for containers: newuidmap(1) lets the
// user become each of them. Files of these uids are the user's own, although neither the user's
// processes nor an ordinary `rm -r` can remove a directory of theirs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stage {

/// Uids from `first` on.
struct UidRange {
    uid_t first = 0;
    std::uint64_t count = 0;

    bool operator==(const UidRange&) const = default;
};
using UidRanges = std::vector<UidRange>;

[[nodiscard]] inline UidRange just(uid_t uid) {
    return {.first = uid, .count = 1};
}
[[nodiscard]] bool contains(const UidRanges& ranges, uid_t uid);

/// The ranges that the file gives `uid`, or its user `name`. Lines that are not
/// "OWNER:FIRST:COUNT" count as absent, as does a range with root's uid, or of a file that
/// cannot be read.
[[nodiscard]] UidRanges subordinate_uids(uid_t uid,
                                         const std::string& name,
                                         const std::string& file = "/etc/subuid");

}  // namespace stage
