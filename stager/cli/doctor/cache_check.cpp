#include "stager/cli/doctor/cache_check.h"

#include "stager/cache/store.h"
#include "stager/cli/doctor/write_check.h"
#include "stager/daemon/cache/cache_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <filesystem>

namespace stage {
namespace {

constexpr const char* kSubject = "CacheDir";

bool is_there(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 || errno != ENOENT;
}

/// stagecastd makes this directory, but not its parents.
Finding check_absent(const std::string& path) {
    const std::string above =
        (std::filesystem::path{path} / "").lexically_normal().parent_path().parent_path();
    return is_there(above)
               ? unknown(kSubject, path + " is not there yet; stagecastd makes it")
               : wrong(kSubject,
                       above + ", above " + path +
                           ", is not there, so there is no node cache; make it as root");
}

/// The free space plus what the cache already occupies.
std::uint64_t room_in(const UniqueFd& directory) {
    struct statvfs about {};
    if (::fstatvfs(directory.get(), &about) != 0) {
        return 0;
    }
    std::uint64_t room = std::uint64_t{about.f_bavail} * about.f_frsize;
    const CacheStore store{UniqueFd{::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0)}};
    for (const CacheStore::Stored& stored : store.list()) {
        room += stored.size.on_disk;
    }
    return room;
}

}  // namespace

Finding check_cache_dir(const Config& config) {
    const std::string& path = config.cache_dir;
    if (config.cache_size == 0) {
        return fine(kSubject, "CacheSize is 0: no node cache");
    }
    if (!is_there(path)) {
        return check_absent(path);
    }
    const auto directory = look_at_cache_directory(config);
    if (!directory) {
        return wrong(kSubject, "no node cache: " + directory.error().sentence());
    }
    struct stat status {};
    constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
    if (::fstat(directory->get(), &status) != 0 || (status.st_mode & kOthers) != 0) {
        return wrong(kSubject,
                     path + " can be read by others than root; chmod 700 " + path +
                         ", or start stagecastd, which does it");
    }
    const std::uint64_t room = room_in(*directory);
    if (room < config.cache_size) {
        return wrong(kSubject,
                     path + " has space for " + std::to_string(room) + " bytes, CacheSize is " +
                         std::to_string(config.cache_size) +
                         "; lower CacheSize, or free space there");
    }
    return and_writable(fine(kSubject, path), path);
}

}  // namespace stage
