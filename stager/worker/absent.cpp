#include "stager/worker/absent.h"

#include <utility>

namespace stage {

Error about_source(Error why, const StageKey& key) {
    const bool is_jobs = key.job_id != kPushJob;
    return why.cause() == ENOENT && is_jobs ? std::move(why).remedy(
                                                  "the job's first node, this one, must see it "
                                                  "when the job starts, not only "
                                                  "the submit host")
                                            : why;
}

Error about_copy(Error why) {
    return why.cause() == ENOENT
               ? std::move(why).remedy("this node has no copy to compare: push it there")
               : why;
}

}  // namespace stage
