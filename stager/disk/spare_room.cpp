#include "stager/disk/spare_room.h"

#include <sys/statvfs.h>

namespace stage {

bool has_spare_room(int file, std::uint64_t bytes) {
    struct statvfs disk {};
    return ::fstatvfs(file, &disk) == 0 &&
           std::uint64_t{disk.f_bavail} * disk.f_frsize / 2 >= bytes;
}

}  // namespace stage
