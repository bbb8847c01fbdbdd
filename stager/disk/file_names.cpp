#include "stager/disk/file_names.h"

#include "transport/base/checksum.h"
#include "transport/base/codec.h"
#include "transport/base/hex.h"
#include "transport/base/random_value.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage {

bool is_plain_name(std::string_view name) {
    return !name.empty() && name.size() <= kMaxFileNameBytes && name != "." && name != ".." &&
           name.find('/') == std::string_view::npos &&
           name.find('\0') == std::string_view::npos;
}

std::string hidden_name(const std::string& name, std::string_view tail) {
    const std::size_t room = kMaxFileNameBytes - 1 - std::min(tail.size(), std::size_t{100});
    if (name.size() <= room) {
        return '.' + name + std::string{tail};
    }
    // Long names may differ only at their ends.
    const Digest128 digest = xxh3_128(as_bytes(name));
    const std::string mark = '~' + to_hex(Bytes{digest}.first(8));
    return '.' + name.substr(0, room - mark.size()) + mark + std::string{tail};
}

bool is_of_another(int directory, const std::string& name) {
    struct stat there {};
    return ::fstatat(directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           there.st_uid != ::geteuid();
}

std::string free_name(int directory, const std::string& temporary) {
    if (!is_of_another(directory, temporary)) {
        return temporary;
    }
    return temporary + '.' + to_hex(random_value<std::array<std::byte, 8>>());
}

}  // namespace stage
