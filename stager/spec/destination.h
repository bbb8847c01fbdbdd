// Where does a spec's file go?
//
// No DST: the source's name in the stage directory; an archive's that is unpacked, without its
// ending. A relative one: below it, and never above by "..". An absolute one: there. A DST that
// ends in "/" is a directory for the source's name. Pure: no disk is asked, so that the submit
// host, the daemon and the worker all get the same answer; whether a directory of that name
// exists already is the worker's to find out.
#pragma once

#include "stager/spec/stage_spec.h"

#include <span>
#include <string>
#include <string_view>

namespace stage {

/// The stage directory's own room: the list of files, and so no destination.
inline constexpr std::string_view kReservedName = ".stagecast";
/// "$STAGECAST_DIR/step.3" holds what step 3 staged for itself: no destination either.
inline constexpr std::string_view kStepPrefix = "step.";

/// "prog" has its libraries in "prog_libs".
inline constexpr std::string_view kLibrariesSuffix = "_libs";

struct Destination {
    bool is_absolute = false;
    std::string
        path;  ///< Without "//", "." and a final "/"; relative: below the stage directory.

    auto operator<=>(const Destination&) const = default;
};

/// Fails (Blame::user) on what escapes the stage directory, "..", reserved and impossible
/// names. A list (spec.is_list) has none of its own: an empty path.
[[nodiscard]] Result<Destination> destination_of(const StageSpec& spec);

/// "env" of "env.tar.gz": what the directory is called that an archive is unpacked to.
[[nodiscard]] std::string_view archive_stem(std::string_view name);

/// The path on disk. `stage_dir` is absolute.
[[nodiscard]] std::string placed(const Destination& destination, std::string_view stage_dir);

/// They ask for one thing: the same file at the same place with the same flags, however the two
/// are written ("./a", "a:a"). Whether it must exist at submission does not matter.
[[nodiscard]] bool are_equal(const StageSpec& one, const StageSpec& other);

/// No two specs write one path, and none needs as a directory what another writes as a file.
/// Fails (Blame::user), naming both sources.
[[nodiscard]] Status check_distinct(std::span<const StageSpec> specs);

}  // namespace stage
