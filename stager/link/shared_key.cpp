#include "stager/link/shared_key.h"

#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace stage {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

std::string how_to_make(const std::string& file) {
    return "make it on one node, (umask 077; head -c 32 /dev/urandom > " + file +
           "), and copy it to the others";
}

Error not_opened(const std::string& what, const std::string& file, int cause) {
    if (cause == ELOOP) {
        return Error{Blame::node, what + ": it is a symbolic link", cause}.remedy(
            "name the file that it leads to");
    }
    Error error = Error::from_errno(Blame::node, what, cause);
    return cause == ENOENT ? std::move(error).remedy(how_to_make(file)) : error;
}

Status check(const std::string& what,
             const std::string& file,
             const KeyFileRule& rule,
             const struct stat& found) {
    if (!S_ISREG(found.st_mode)) {
        return Error{Blame::node, what + ": it is not a regular file"}.remedy(
            how_to_make(file));
    }
    if (std::ranges::find(rule.owners, found.st_uid) == rule.owners.end()) {
        const std::string other =
            rule.owner_setting.empty()
                ? ""
                : ", or name its owner in " + rule.owner_setting + "=, if that is Slurm's user";
        return Error{Blame::node,
                     what + ": it belongs to uid " + std::to_string(found.st_uid) +
                         ", which could replace it"}
            .remedy("chown root " + file + other);
    }
    if ((found.st_mode & kOthers) != 0) {
        return Error{Blame::node, what + ": others than its owner have rights to it"}.remedy(
            "chmod 0400 " + file + ", and make a new key if others have used this node");
    }
    return {};
}

/// At most `bytes_max` + 1 bytes.
Result<std::vector<std::byte>> read_bytes(const std::string& what,
                                          int fd,
                                          std::size_t bytes_max) {
    std::vector<std::byte> bytes(bytes_max + 1);
    std::size_t have = 0;
    while (have < bytes.size()) {
        const ssize_t got = ::read(fd, &bytes[have], bytes.size() - have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return Error::from_errno(Blame::node, what);
        }
        if (got == 0) {
            break;
        }
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
}

std::string wanted_bytes(const KeyFileRule& rule) {
    const std::string least = std::to_string(rule.bytes_min);
    return rule.bytes_min == rule.bytes_max ? "exactly " + least
                                            : least + " to " + std::to_string(rule.bytes_max);
}

}  // namespace

KeyFileRule auth_key_rule(std::optional<uid_t> slurm_user) {
    KeyFileRule rule{.name = "AuthKeyFile", .owner_setting = "SlurmUser"};
    if (slurm_user) {
        rule.owners.push_back(*slurm_user);
    }
    return rule;
}

SharedKey::~SharedKey() {
    OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

Result<SharedKey> read_shared_key(const std::string& file, const KeyFileRule& rule) {
    const std::string what = rule.name + "=" + file;
    const UniqueFd opened{
        ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    struct stat found {};
    if (!opened || ::fstat(opened.get(), &found) != 0) {
        return not_opened(what, file, errno);
    }
    if (Status checked = check(what, file, rule, found); !checked) {
        return std::move(checked).error();
    }
    TRY(auto bytes, read_bytes(what, opened.get(), rule.bytes_max));
    SharedKey key{file, std::move(bytes)};
    const std::size_t count = key.bytes().size();
    if (count < rule.bytes_min || count > rule.bytes_max) {
        return Error{Blame::node,
                     what + ": it has " +
                         (count > rule.bytes_max ? "more than " + std::to_string(rule.bytes_max)
                                                 : std::to_string(count)) +
                         " bytes, but " + wanted_bytes(rule) + " are needed"}
            .remedy(how_to_make(file));
    }
    return key;
}

}  // namespace stage
