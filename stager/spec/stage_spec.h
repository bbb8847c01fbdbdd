// What does one --stage-file= ask for?
//
//     SRC[:DST[:FLAG+FLAG...]]      @LIST[::FLAG+FLAG...]      SCHEME://... (refused)
//
// `\:` is a colon of a name and `\\` a backslash; any other backslash is itself. A user's
// mistake is answered with its position, counted in bytes from 1, and what to write instead.
// How a job's specs travel: spec_list.h. Where a spec's file goes: destination.h.
#pragma once

#include "transport/base/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace stage {

/// What becomes of a different file at an absolute destination.
enum class Existing : unsigned char { refuse, keep, newer, overwrite };

struct StageSpec {
    std::string source{};       ///< As given; absolute once made_absolute() or serialised.
    std::string destination{};  ///< As given; empty: none. See destination.h for its meaning.
    Existing existing = Existing::refuse;
    bool is_list = false;      ///< `source` names a file with one spec a line, without the @.
    bool is_optional = false;  ///< The job runs even if this one fails.
    bool is_temporary =
        false;                ///< Removed at the job's end though its destination is absolute.
    bool is_durable = false;  ///< On the disk (fsync) before it counts as staged.
    bool is_late = false;     ///< Need not exist at submission.
    bool is_with_libraries = false;  ///< A program: its shared libraries come, too.
    bool is_unpacked = false;        ///< An archive: what is in it comes, in a directory.
    bool is_resumable = false;  ///< What came before it broke off stays, and is used. A push's.

    bool operator==(const StageSpec&) const = default;
};

/// One option's value, or one line of a @LIST. Fails (Blame::user) with position and reason.
[[nodiscard]] Result<StageSpec> parse_spec(std::string_view text);

/// The same, where files can be looked for: if there is none of that name, a colon or a
/// backslash may be part of one that is there, though nothing says so (sbatch takes the
/// backslash out of
/// "\\:" in an #SBATCH line). `is_there` is asked for names as they are given.
[[nodiscard]] Result<StageSpec> parse_spec(
    std::string_view text, const std::function<bool(const std::string&)>& is_there);

/// A spec with a relative source put below `directory`, which is absolute.
[[nodiscard]] StageSpec made_absolute(StageSpec spec, std::string_view directory);

/// What must hold of every spec, wherever it came from: why this one is none, or nothing.
[[nodiscard]] std::string_view reason_against(const StageSpec& spec);

}  // namespace stage
