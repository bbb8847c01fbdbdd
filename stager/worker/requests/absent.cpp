#include "stager/worker/requests/absent.h"

#include "stager/messages/stage_traits.h"

#include <utility>

namespace stage {

Error about_source(Error why, const StageKey& key) {
    if (why.cause() != ENOENT || !traits_of(key).has_job) {
        return why;
    }
    return key.step_id == kWholeJob
               ? std::move(why).remedy(
                     "the job's first node, this one, must see it when the job "
                     "starts, not only the submit host")
               : std::move(why).remedy(
                     "the step's first node, this one, must see it when the "
                     "step starts, not only the node where srun runs");
}

Error about_copy(Error why) {
    return why.cause() == ENOENT
               ? std::move(why).remedy("this node has no copy to compare: push it there")
               : why;
}

}  // namespace stage
