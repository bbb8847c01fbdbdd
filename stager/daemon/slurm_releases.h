// What do Slurm's releases, 22.05 to 26.05, call the same things?
//
// libslurm's interface changes between releases (docs/COMPATIBILITY.md); each difference that
// slurm_query.cpp and slurm_nodes.cpp would meet is here once.
#pragma once

#include <slurm/slurm.h>

#include <csignal>
#include <cstdint>

namespace stage {

// A pointer type until 23.11, the type behind the pointer since.
struct HostlistFree {
    template <class Hostlist>
    void operator()(Hostlist* list) const {
        ::slurm_hostlist_destroy(list);
    }
};

#if SLURM_VERSION_NUMBER >= 0x190b00
[[nodiscard]] inline slurm_step_id_t step_of(std::uint32_t job_id, std::uint32_t step_id) {
    slurm_step_id_t step{};
    step.job_id = job_id;
    step.step_id = step_id;
    step.step_het_comp = NO_VAL;
    return step;
}
#endif

#if SLURM_VERSION_NUMBER >= 0x1a0500
[[nodiscard]] inline slurm_step_id_t whole_job(std::uint32_t job_id) {
    return step_of(job_id, NO_VAL);
}
#else
[[nodiscard]] inline std::uint32_t whole_job(std::uint32_t job_id) {
    return job_id;
}
#endif

inline void name_job(job_desc_msg_t& change, std::uint32_t job_id) {
#if SLURM_VERSION_NUMBER >= 0x190b00
    change.step_id = step_of(job_id, NO_VAL);
#else
    change.job_id = job_id;
#endif
}

[[nodiscard]] inline int kill_step(std::uint32_t job_id, std::uint32_t step_id) {
#if SLURM_VERSION_NUMBER >= 0x190b00
    slurm_step_id_t step = step_of(job_id, step_id);
    return ::slurm_kill_job_step(&step, SIGKILL, 0);
#elif SLURM_VERSION_NUMBER >= 0x170b00
    return ::slurm_kill_job_step(job_id, step_id, SIGKILL, 0);
#else
    return ::slurm_kill_job_step(job_id, step_id, SIGKILL);
#endif
}

[[nodiscard]] inline std::uint32_t job_of(const slurm_job_info_t& job) {
#if SLURM_VERSION_NUMBER >= 0x1a0500
    return job.step_id.job_id;
#else
    return job.job_id;
#endif
}

}  // namespace stage
