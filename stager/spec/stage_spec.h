// Parses one --stage-file= option.
//
//     SRC[:DST[:FLAG+FLAG...]]      @LIST[::FLAG+FLAG...]
//     cluster://CLUSTER/SRC[:DST[:FLAG+FLAG...]]      another SCHEME://... (refused)
//
// `\:` is a colon in a name, `\\` a backslash, any other backslash literal. `exclude=PATTERN`
// ends at a plus without one. An error has the mistake's position, in bytes from 1, and remedy.
// Serialisation of specs: spec_list.h. Destinations: destination.h.
#pragma once

#include "transport/base/result.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// What happens to a different file at an absolute destination.
enum class Existing : unsigned char { refuse, keep, newer, overwrite };

struct StageSpec {
    std::string source{};       ///< The given path; absolute once made absolute or serialised.
    std::string destination{};  ///< The given path; empty: none. destination.h has its meaning.
    /// Where the source lies; empty: here. Not serialised: all of a stage's sources lie in one
    /// cluster (StageOptions::cluster).
    std::string cluster{};
    Existing existing = Existing::refuse;
    bool is_list = false;       ///< `source` names a file with one spec a line, without the @.
    bool is_optional = false;   ///< The job runs even if this one fails.
    bool is_temporary = false;  ///< Removed at the job's end also at an absolute destination.
    bool is_durable = false;    ///< Synced to disk (fsync) before it counts as staged.
    bool is_late = false;       ///< Need not exist at submission.
    bool is_with_libraries = false;       ///< A program, staged with its shared libraries.
    bool is_unpacked = false;             ///< An archive, extracted to a directory.
    bool is_resumable = false;            ///< An interrupted push's data is kept and used.
    bool is_following = false;            ///< Links that lead out of a directory become files.
    bool skips_devices = false;           ///< Devices and pipes are left out of it.
    std::vector<std::string> excludes{};  ///< Left out of a directory (exclusion.h).

    bool operator==(const StageSpec&) const = default;
};

/// A member of StageSpec that is on or off, as specs have it.
struct SpecSwitch {
    char letter;            ///< In a serialised spec, of which they keep this order.
    std::string_view word;  ///< The flag that a user writes; empty: none.
    bool StageSpec::*member;
};
inline constexpr std::array kSpecSwitches{
    SpecSwitch{'l', "", &StageSpec::is_list},
    SpecSwitch{'o', "optional", &StageSpec::is_optional},
    SpecSwitch{'t', "temp", &StageSpec::is_temporary},
    SpecSwitch{'d', "durable", &StageSpec::is_durable},
    SpecSwitch{'a', "late", &StageSpec::is_late},
    SpecSwitch{'x', "extract", &StageSpec::is_unpacked},
    SpecSwitch{'b', "libs", &StageSpec::is_with_libraries},
    SpecSwitch{'r', "", &StageSpec::is_resumable},
    SpecSwitch{'f', "follow", &StageSpec::is_following},
    SpecSwitch{'s', "no-devices", &StageSpec::skips_devices}};

/// Parses one option's value, or one line of a @LIST. Fails (Blame::user) with position and
/// reason.
[[nodiscard]] Result<StageSpec> parse_spec(std::string_view text);

/// Parses a spec where files can be looked up: if no file has that name, a colon or a
/// backslash may be part of an existing one without being escaped (sbatch removes the backslash
/// of "\\:" in an #SBATCH line). `is_there` is called with names as they are written.
[[nodiscard]] Result<StageSpec> parse_spec(
    std::string_view text, const std::function<bool(const std::string&)>& is_there);

/// A cluster's name: letters, digits, '_', '-' and '.', at most kMaxClusterNameBytes.
inline constexpr std::size_t kMaxClusterNameBytes = 64;
[[nodiscard]] bool is_cluster_name(std::string_view name);

/// An absolute path without "//", "." and "..", and without a final slash; not "/".
[[nodiscard]] bool is_plain_path(std::string_view path);

/// Returns the spec with a relative source made absolute below `directory`, which is absolute.
[[nodiscard]] StageSpec made_absolute(StageSpec spec, std::string_view directory);

/// Checks what must hold for every spec: returns why this one is invalid, or an empty text.
[[nodiscard]] std::string_view reason_against(const StageSpec& spec);

}  // namespace stage
