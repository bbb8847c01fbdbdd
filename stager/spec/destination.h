// Determines the destination of a spec.
//
// Without DST it is the source's name in the stage directory (for an archive with `extract`:
// without its suffix). A relative DST is below the stage directory, and ".." is refused. An
// absolute DST is used as it is. A DST that ends in "/" is a directory for the source's name.
// The result depends on no disk, so that submit host, daemon and worker agree; only the worker
// finds out whether a directory of that name exists already.
#pragma once

#include "stager/spec/stage_spec.h"

#include <span>
#include <string>
#include <string_view>

namespace stage {

/// The directory in the stage directory for stagecast's own files, and so no destination.
inline constexpr std::string_view kReservedName = ".stagecast";
/// "$STAGECAST_DIR/step.3" holds step 3's own files: no destination either.
inline constexpr std::string_view kStepPrefix = "step.";

/// The libraries of "prog" are in "prog_libs".
inline constexpr std::string_view kLibrariesSuffix = "_libs";

struct Destination {
    bool is_absolute = false;
    std::string
        path;  ///< Without "//", "." and a final "/"; relative: below the stage directory.

    auto operator<=>(const Destination&) const = default;
};

/// Fails (Blame::user) on "..", reserved and impossible names. A list (spec.is_list) has no
/// destination: an empty path.
[[nodiscard]] Result<Destination> destination_of(const StageSpec& spec);

/// "env" for "env.tar.gz": the name of the directory that an archive is extracted to.
[[nodiscard]] std::string_view archive_stem(std::string_view name);

/// The path on disk. `stage_dir` is absolute.
[[nodiscard]] std::string placed(const Destination& destination, std::string_view stage_dir);

/// True if both specs request the same file at the same destination with the same flags,
/// however they are written ("./a", "a:a"). Whether the source must exist at submission is
/// ignored.
[[nodiscard]] bool are_equal(const StageSpec& one, const StageSpec& other);

/// Fails (Blame::user), naming both sources, if two specs write the same path, or one needs as
/// a directory what another writes as a file.
[[nodiscard]] Status check_distinct(std::span<const StageSpec> specs);

}  // namespace stage
