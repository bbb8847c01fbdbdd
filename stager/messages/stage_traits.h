// States in what the stages of a push differ from those of a job.
//
// Each difference has a name. The code of daemon and worker asks for the difference, and not
// for a push: one more is a member here, and the place that asks for it.
#pragma once

#include "stager/control/message.h"

namespace stage {

struct StageTraits {
    /// A plugin announces it, awaits its verdict and reports its end. Otherwise its plan
    /// announces it, and it ends with its verdict.
    bool has_job = true;
    /// PushRoots and PushSetId apply to it, in place of DestRoots and a user's rights.
    bool is_roots_own = false;
    bool may_cache = true;     ///< Where a node has a cache, it takes and keeps files there.
    bool has_patterns = true;  ///< In the names of its specs.
    bool makes_directories = true;    ///< Those above an absolute destination.
    bool spills_below_itself = true;  ///< To its directory; otherwise beside a destination.
};

inline constexpr StageTraits kJobTraits{};
inline constexpr StageTraits kPushTraits{.has_job = false,
                                         .is_roots_own = true,
                                         .may_cache = false,
                                         .has_patterns = false,
                                         .makes_directories = false,
                                         .spills_below_itself = false};

[[nodiscard]] constexpr const StageTraits& traits_of(const StageKey& key) {
    return key.job_id == kPushJob ? kPushTraits : kJobTraits;
}

}  // namespace stage
