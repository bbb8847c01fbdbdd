// Reads a file with a key that an administrator has put on several nodes.
//
// A key that others can read or replace proves nothing: the file has one owner, no rights for
// others, and is opened without following a link.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace stage {

inline constexpr std::size_t kSharedKeyMin = 32;

/// What a key file has to be.
struct KeyFileRule {
    std::string name;  ///< The setting that names it, for messages: "AuthKeyFile".
    std::vector<uid_t> owners{0};
    std::string owner_setting{};  ///< The setting that allows another owner; empty: none.
    std::size_t bytes_min = kSharedKeyMin;
    std::size_t bytes_max = 4096;
};

/// The rule for AuthKeyFile=. `slurm_user`: SlurmUser=, who may own Slurm's own key.
[[nodiscard]] KeyFileRule auth_key_rule(std::optional<uid_t> slurm_user);

/// The bytes of a key file. Wiped on destruction.
class SharedKey {
  public:
    explicit SharedKey(std::string file, std::vector<std::byte> bytes)
        : file_{std::move(file)}, bytes_{std::move(bytes)} {}
    SharedKey(SharedKey&&) = default;
    SharedKey& operator=(SharedKey&&) = delete;
    SharedKey(const SharedKey&) = delete;
    SharedKey& operator=(const SharedKey&) = delete;
    ~SharedKey();

    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] Bytes bytes() const { return bytes_; }

  private:
    std::string file_;
    std::vector<std::byte> bytes_;
};

/// Fails (Blame::node) with a message that has setting, file, cause and remedy. cause() is the
/// errno of a file that cannot be opened.
[[nodiscard]] Result<SharedKey> read_shared_key(const std::string& file,
                                                const KeyFileRule& rule);

}  // namespace stage
