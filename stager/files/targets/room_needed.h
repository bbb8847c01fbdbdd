// Adds up what a stage's files take of each disk, and reports when one has too little.
#pragma once

#include "stager/files/target/target.h"

#include <map>

namespace stage {

class RoomNeeded {
  public:
    /// Fails (Blame::user, ENOSPC) if the target's disk has no room, or no inodes, for it
    /// beside those that were added before; it is not added then.
    [[nodiscard]] Status add(const Target& target);

  private:
    std::map<std::uint64_t, TargetNeeds> sums_;  ///< By device.
};

}  // namespace stage
