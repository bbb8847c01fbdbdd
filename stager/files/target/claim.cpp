#include "stager/files/target/claim.h"

#include "stager/disk/file_names.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace stage {

std::string Claims::Claim::claim_of(std::uint32_t step) const {
    return temporary_name(directory, name, writer, (writer.rank + step) % writer.group_size);
}

/// The own claim is checked last, because of the order in take_away().
bool Claims::Claim::is_shared() const {
    struct stat own {};
    struct stat there {};
    if (::fstat(file.get(), &own) != 0 ||
        is_at_work(directory.fd.get(), claim_of(1), own.st_uid)) {
        return true;
    }
    // The file is opened, not only looked up, because only then NFS asks its server again.
    const UniqueFd found{::openat(directory.fd.get(),
                                  claim_of(0).c_str(),
                                  O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
    return !found || ::fstat(found.get(), &there) != 0 || own.st_ino != there.st_ino;
}

void Claims::Claim::take_away(std::uint32_t step) const {
    static_cast<void>(::unlinkat(directory.fd.get(), claim_of(step).c_str(), 0));
}

Claims::~Claims() {
    for (const Claim& claim : claims_) {
        if (claim.file) {
            claim.take_away(0);
        }
    }
}

void Claims::prepare(const TargetPlace& place, const Writer& writer) {
    Result<TargetDirectory> directory = open_target_directory(place);
    if (!directory || writer.group_size < 2) {
        return;
    }
    Claim claim;
    claim.directory = *std::move(directory);
    claim.name = place.name();
    claim.path = place.path();
    claim.writer = writer;
    if (!is_of_another(claim.directory.fd.get(), claim.claim_of(0))) {
        claims_.push_back(std::move(claim));
    }
}

void Claims::make() {
    std::erase_if(claims_, [](Claim& claim) { return !claim.is_made(); });
}

bool Claims::Claim::is_made() {
    constexpr int kOpen = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    const int at = directory.fd.get();
    const std::string own = claim_of(0);
    UniqueFd made{::openat(at, own.c_str(), kOpen | O_CREAT | O_EXCL, 0600)};
    // A claim left by an earlier run of the job can be used; another user's can't.
    if (!made && errno == EEXIST && !is_of_another(at, own)) {
        made.reset(::openat(at, own.c_str(), kOpen));
    }
    // A file system without locks has no other stage at work on it that one could see.
    if (made && (::flock(made.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)) {
        file = std::move(made);
    }
    return static_cast<bool>(file);
}

std::vector<std::string> Claims::paths() const {
    std::vector<std::string> paths;
    for (const Claim& claim : claims_) {
        paths.push_back(claim.path.substr(0, claim.path.rfind('/') + 1) + claim.claim_of(0));
    }
    return paths;
}

Status Claims::settle() {
    Status alone;
    for (const Claim& claim : claims_) {
        if (!claim.is_shared()) {
            claim.take_away(0);
            continue;
        }
        for (std::uint32_t step = 1; step <= claim.writer.group_size; ++step) {
            claim.take_away(step);
        }
        alone = alone ? shared_error(claim.path) : alone;
    }
    claims_.clear();
    return alone;
}

}  // namespace stage
