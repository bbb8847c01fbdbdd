// Holds the members of a tree that were written to a moment ago.
//
// A log that grows, a checkpoint that is replaced by renaming, or a temporary file is often
// another file, or gone, when its data are read. So the walk keeps it: a small one in memory, a
// larger one by its descriptor, which stays the same file whatever happens to its name. There
// are limits on both; members beyond them are opened when they are read.
#pragma once

#include "stager/disk/open_to_read.h"
#include "transport/base/checksum.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// What a source's trees may hold together.
struct HeldRoom {
    std::uint64_t bytes = 16U << 20U;  ///< Bytes of members in memory.
    std::size_t files = 64;            ///< Descriptors.
};

/// A held member has one of these.
struct HeldMember {
    std::vector<std::byte> bytes;  ///< The whole file.
    UniqueFd file;
    /// The digest of tail_of() of a descriptor, for a file that only grew has it still.
    Digest128 tail{};
};

/// The digest of the last bytes of the first `size` of an open file; nothing if it is shorter,
/// or can't be read.
[[nodiscard]] std::optional<Digest128> tail_of(int file, std::uint64_t size);

class HeldMembers {
  public:
    /// `now`: the time of day at which the walk begins.
    explicit HeldMembers(std::chrono::nanoseconds now) : now_{now} {}

    /// Holds the regular file `name` in the directory `at` as member `node`, if it was written
    /// to lately and there is room, which it takes. `status` becomes that of the held file.
    /// `no_follow`: O_NOFOLLOW, or 0 for a link that is followed.
    void take(HeldRoom& room,
              std::uint32_t node,
              int at,
              const std::string& name,
              int no_follow,
              struct stat& status);

    /// Returns nullptr for a member that is not held.
    [[nodiscard]] const HeldMember* find(std::uint32_t node) const;

  private:
    std::chrono::nanoseconds now_;
    std::map<std::uint32_t, HeldMember> all_;
};

}  // namespace stage
