// How do a job's specs travel from the submit host to its nodes?
//
// As one line of printable text in the environment of the job's prolog, so at most 32 KiB (a
// longer string breaks exec, and a prolog that can't exec drains nodes). That environment is
// the user's to forge: parse_serialized() believes nothing and holds to all the limits again.
//
//     1[,tSECONDS][,v][,c][,uMASK][,lLINE][,wDIRECTORY][,eDIRECTORIES]
//     ;FLAGS,SOURCE,DESTINATION;...                      %XX for , ; % space and control
//
// t, v, c, u (octal), l, w and e: StageOptions.
// FLAGS: one of - k n w (refuse, keep, newer, overwrite), then any of l o t d a x b r (a
// list, optional, temporary, durable, late, extract, libs, resumable).
#pragma once

#include "stager/spec/stage_spec.h"
#include "stager/spec/umask.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// What a job wants of its staging as a whole.
struct StageOptions {
    std::uint32_t timeout_s = 0;  ///< --stage-timeout, 1 .. kMaxTimeoutWish; 0: the site's.
    bool is_verbose = false;      ///< --stage-verbose
    bool has_container = false;   ///< A step's, which may be made of what is staged.
    std::uint16_t umask = kUsualUmask;  ///< Of the submission: what is unpacked gets it.
    std::uint32_t line = 0;             ///< In a manifest: which line of its list this spec is.
    std::string work_dir{};             ///< A step's: relative names in its lists lie below it.
    std::string ld_library_path{};      ///< LD_LIBRARY_PATH at submission, if `libs` wants it.

    bool operator==(const StageOptions&) const = default;
};
inline constexpr std::uint32_t kMaxTimeoutWish = 24 * 3600;
inline constexpr std::size_t kMaxLibraryPathBytes = 8192;

/// All specs of a job; of equal ones the first. Fails (Blame::user) with a sentence if there
/// are too many or they are too long together, or if two have one destination. Requires
/// absolute sources and at least one.
[[nodiscard]] Result<std::string> serialize(std::span<const StageSpec> specs,
                                            const StageOptions& wishes = {});

/// What serialize() wrote. Fails (Blame::user: nobody else can have forged it) on anything
/// else.
[[nodiscard]] Result<std::vector<StageSpec>> parse_serialized(std::string_view line);

/// The wishes in it; none in what is no such line.
[[nodiscard]] StageOptions wishes_of(std::string_view line);

}  // namespace stage
