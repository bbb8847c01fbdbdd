#include "stager/files/targets/room_needed.h"

#include "stager/disk/disk_error.h"
#include "stager/spec/amount.h"

#include <algorithm>
#include <limits>

namespace stage {

Status RoomNeeded::add(const Target& target) {
    const TargetDirectory& disk = target.directory();
    TargetNeeds& sum = sums_[disk.device];
    TargetNeeds with = target.needs();
    with.bytes =
        sum.bytes + std::min(with.bytes, std::numeric_limits<std::uint64_t>::max() - sum.bytes);
    with.inodes += sum.inodes;
    if (with.bytes > disk.free_bytes) {
        return target_error(target.path(), ENOSPC)
            .remedy(binary_amount_text(with.bytes) + " are needed and " +
                    binary_amount_text(disk.free_bytes) + " free");
    }
    if (with.inodes > disk.free_inodes) {
        return target_error(target.path(), ENOSPC)
            .remedy(std::to_string(with.inodes) + " inodes are needed and " +
                    std::to_string(disk.free_inodes) + " free");
    }
    sum = with;
    return {};
}

}  // namespace stage
