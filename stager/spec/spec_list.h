// Serialises a job's specs for the way from the submit host to its nodes.
//
// They are one line of printable text in the environment of the job's prolog, at most 32 KiB (a
// longer string breaks exec, and a prolog that can't exec drains nodes). The user can forge
// that environment, so parse_serialized() checks all limits again.
//
//     1[,tSECONDS][,v][,k][,c][,uMASK][,lLINE][,wDIRECTORY][,eDIRECTORIES][,fCLUSTER,pTICKET]
//     ;FLAGS,SOURCE,DESTINATION[,EXCLUDE...];...         %XX for , ; % space and control
//
// t, v, k, c, u (octal), l, w, e, f and p: StageOptions.
// FLAGS: one of - k n w (refuse, keep, newer, overwrite), then any of l o t d a x b r f s (a
// list, optional, temporary, durable, late, extract, libs, resumable, follow, no-devices).
#pragma once

#include "stager/spec/stage_spec.h"
#include "stager/spec/umask.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The options of a staging request as a whole.
struct StageOptions {
    std::uint32_t timeout_s = 0;  ///< --stage-timeout, 1 .. kMaxStageTimeoutS; 0: the site's.
    bool is_verbose = false;      ///< --stage-verbose
    bool is_no_kill = false;      ///< --stage-no-kill: a job's.
    bool has_container = false;   ///< A step's, which may be made of staged files.
    std::uint16_t umask = kUsualUmask;  ///< At submission; applied to extracted files.
    std::uint32_t line = 0;             ///< In a manifest: the spec's line in its list.
    std::string work_dir{};             ///< A step's: relative names in its lists are below it.
    std::string ld_library_path{};      ///< LD_LIBRARY_PATH at submission, for `libs`.
    std::string cluster{};              ///< Where all sources lie; empty: here.
    std::string ticket{};               ///< The right to read them there (ticket.h).

    bool operator==(const StageOptions&) const = default;
};
inline constexpr std::uint32_t kMaxStageTimeoutS = 24 * 3600;
inline constexpr std::size_t kMaxLibraryPathBytes = 8192;

/// Serialises all specs of a job; of equal ones the first. Fails (Blame::user) if there are too
/// many, if they are too long together, or if two have the same destination. Requires absolute
/// sources and at least one spec.
[[nodiscard]] Result<std::string> serialize(std::span<const StageSpec> specs,
                                            const StageOptions& options = {});

/// Parses the output of serialize(). Fails on anything else (Blame::user: only the user can
/// have forged it).
[[nodiscard]] Result<std::vector<StageSpec>> parse_serialized(std::string_view line);

/// The options in a serialised line; defaults if it is malformed.
[[nodiscard]] StageOptions options_in(std::string_view line);

}  // namespace stage
