#include "stager/files/claim.h"

#include <fcntl.h>
#include <sys/file.h>

namespace stage {

Claims::~Claims() {
    remove_all();
}

void Claims::remove_all() {
    for (const Claim& claim : claims_) {
        static_cast<void>(::unlinkat(claim.directory.fd.get(), claim.name.c_str(), 0));
    }
    claims_.clear();
}

void Claims::claim(const TargetPlace& place, const Writer& writer) {
    Result<TargetDirectory> directory = open_target_directory(place);
    if (!directory || writer.group_size < 2) {
        return;
    }
    Claim claim;
    claim.directory = *std::move(directory);
    claim.name = temporary_name(place.name(), writer, writer.rank);
    claim.successor =
        temporary_name(place.name(), writer, (writer.rank + 1) % writer.group_size);
    claim.path = place.path();
    // Not exclusive: one that an earlier life of the job left behind does as well.
    claim.file.reset(::openat(claim.directory.fd.get(),
                              claim.name.c_str(),
                              O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                              0600));
    if (claim.file && ::flock(claim.file.get(), LOCK_EX | LOCK_NB) == 0) {
        claims_.push_back(std::move(claim));
    }
}

std::vector<std::string> Claims::paths() const {
    std::vector<std::string> paths;
    for (const Claim& claim : claims_) {
        paths.push_back(claim.path.substr(0, claim.path.rfind('/') + 1) + claim.name);
    }
    return paths;
}

Status Claims::settle() {
    Status alone;
    for (const Claim& claim : claims_) {
        if (alone && is_at_work(claim.directory.fd.get(), claim.successor)) {
            alone = shared_error(claim.path);
        }
    }
    remove_all();
    return alone;
}

}  // namespace stage
