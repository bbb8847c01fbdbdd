#include "stager/worker/engine/key_file.h"

#include "stager/disk/disk_error.h"
#include "stager/disk/disk_io.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

namespace stage {
namespace {

constexpr std::size_t kKeyBytes = 32;

std::optional<unsigned> digit_of(std::byte text) {
    const auto digit = static_cast<char>(text);
    if (digit >= '0' && digit <= '9') {
        return static_cast<unsigned>(digit - '0');
    }
    if (digit >= 'a' && digit <= 'f') {
        return static_cast<unsigned>(digit - 'a') + 10U;
    }
    if (digit >= 'A' && digit <= 'F') {
        return static_cast<unsigned>(digit - 'A') + 10U;
    }
    return std::nullopt;
}

std::optional<seal::GroupKey> from_hexadecimal(Bytes text) {
    seal::GroupKey key{};
    if (text.size() == 2 * kKeyBytes + 1 && text.back() == std::byte{'\n'}) {
        text = text.first(2 * kKeyBytes);
    }
    if (text.size() != 2 * kKeyBytes) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < kKeyBytes; ++i) {
        const auto high = digit_of(text[2 * i]);
        const auto low = digit_of(text[2 * i + 1]);
        if (!high || !low) {
            return std::nullopt;
        }
        key[i] = static_cast<std::byte>(*high << 4U | *low);
    }
    return key;
}

}  // namespace

std::optional<seal::GroupKey> read_key(Bytes text) {
    if (text.size() != kKeyBytes) {
        return from_hexadecimal(text);
    }
    seal::GroupKey key{};
    std::ranges::copy(text, key.begin());
    return key;
}

Result<seal::GroupKey> read_key_file(const std::string& path) {
    const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return source_error(path, errno).within("key file");
    }
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return Error{Blame::user, "key file " + path + ": is readable by others"}.remedy(
            "chmod 600 it, and make a new key if others have used the machine");
    }
    std::array<std::byte, 2 * kKeyBytes + 2> room{};
    const std::int64_t count = read_fully(file.get(), room, 0);
    if (count < 0) {
        return source_error(path, errno).within("key file");
    }
    if (const auto key = read_key(Bytes{room}.first(static_cast<std::size_t>(count)))) {
        return *key;
    }
    return Error{Blame::user, "key file " + path + ": does not contain a 32-byte key"}.remedy(
        "make one with: head -c 32 /dev/urandom");
}

}  // namespace stage
