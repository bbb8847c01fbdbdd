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
    // Encrypting file systems take names of 143 bytes (eCryptfs), where 255 are usual; and some
    // take only whole characters of UTF-8. So a name that is long is cut shorter than it must.
    constexpr std::size_t kRoom = 80;
    if (name.size() <= kRoom) {
        return '.' + name + std::string{tail};
    }
    // Long names may differ only at their ends.
    const Digest128 digest = xxh3_128(as_bytes(name));
    const std::string mark = '~' + to_hex(Bytes{digest}.first(8));
    std::size_t end = kRoom - mark.size();
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return '.' + name.substr(0, end) + mark + std::string{tail};
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
