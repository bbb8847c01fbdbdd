#include "stager/files/target/target.h"

#include "stager/content/sha256.h"
#include "stager/disk/file_names.h"
#include "transport/base/codec.h"
#include "transport/base/hex.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace stage {

namespace {

std::string hash_of(const std::string& name, const NameSecret& secret) {
    constexpr std::size_t kBytes = 8;
    Sha256 hash;
    hash.add(secret);
    hash.add(as_bytes(name));
    return to_hex(Bytes{hash.digest()}.first(kBytes));
}

}  // namespace

NameSecret name_secret(Bytes group_key) {
    Sha256 hash;
    hash.add(as_bytes("stagecast: names of temporary files"));
    hash.add(group_key);
    return hash.digest();
}

std::string temporary_name(const TargetDirectory& directory,
                           const std::string& name,
                           const Writer& writer,
                           std::uint32_t rank) {
    return hidden_name(directory.has_other_writers ? hash_of(name, writer.secret) : name,
                       ".stagecast." + writer.job + '.' + std::to_string(rank));
}

bool is_at_work(int directory, const std::string& temporary, uid_t owner) {
    const UniqueFd other{
        ::openat(directory, temporary.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    return other && ::fstat(other.get(), &status) == 0 && status.st_uid == owner &&
           ::flock(other.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Error shared_error(const std::string& path) {
    return Error{Blame::user,
                 path +
                     ": lies on a file system that other nodes of the job share, "
                     "every node would write the same file"}
        .remedy("copy it there once yourself, or choose a local destination");
}

Status check_alone(const TargetDirectory& directory,
                   int own,
                   const std::string& name,
                   const Writer& writer,
                   const std::string& path) {
    const std::uint32_t size = writer.group_size;
    struct stat ours {};
    const bool is_known = ::fstat(own, &ours) == 0;
    for (const std::uint32_t step : std::array{1U, size - 1U}) {
        const std::uint32_t rank = (writer.rank + step) % size;
        const std::string other = temporary_name(directory, name, writer, rank);
        struct stat status {};
        if (rank != writer.rank &&
            ::fstatat(directory.fd.get(), other.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            is_known && status.st_uid == ours.st_uid) {
            return shared_error(path);
        }
    }
    return {};
}

Status check_kept(int directory,
                  const std::string& name,
                  const std::string& path,
                  mode_t kind) {
    struct stat there {};
    if (::fstatat(directory, name.c_str(), &there, 0) == 0 &&
        (there.st_mode & S_IFMT) == kind) {
        return {};
    }
    const char* what = kind == S_IFDIR ? "directory" : "file";
    return Error{Blame::user,
                 path + ": exists already, and is neither a " + what + " nor a link to one"}
        .remedy("remove it, or use overwrite instead of keep or newer (SRC:DST:overwrite)");
}

}  // namespace stage
