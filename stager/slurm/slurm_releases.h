// Hides the differences between the interfaces of Slurm's releases 22.05 to 26.05.
//
// libslurm's interface changes between releases (docs/COMPATIBILITY.md); each difference that
// concerns slurm_query.cpp and slurm_nodes.cpp is handled here, once.
#pragma once

#include <slurm/slurm.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

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

[[nodiscard]] inline int requeue_job(std::uint32_t job_id, std::uint32_t flags) {
#if SLURM_VERSION_NUMBER >= 0x1a0500
    return ::slurm_requeue(whole_job(job_id), flags);
#else
    return ::slurm_requeue(job_id, flags);
#endif
}

/// Calls each(name, address) for the nodes of a list that Slurm knows. On another result than
/// SLURM_SUCCESS errno has the reason. libslurm exports no function to free its answer; the
/// child that asks ends soon.
#if SLURM_VERSION_NUMBER >= 0x170b00
inline constexpr bool kHasNodeAddresses = true;
template <class Each>
[[nodiscard]] int each_node_address(std::string list, Each each) {
    slurm_node_alias_addrs_t* reply = nullptr;
    const int done = ::slurm_get_node_alias_addrs(list.data(), &reply);
    if (done != SLURM_SUCCESS || reply == nullptr) {
        return done;
    }
    const std::unique_ptr<hostlist, HostlistFree> names{
        ::slurm_hostlist_create(reply->node_list)};
    for (std::uint32_t i = 0; names != nullptr && i < reply->node_cnt; ++i) {
        char* const name = ::slurm_hostlist_shift(names.get());
        if (name == nullptr) {
            break;
        }
        each(name, reply->node_addrs[i]);
        std::free(name);  // NOLINT: libslurm's malloc
    }
    return SLURM_SUCCESS;
}
#else
inline constexpr bool kHasNodeAddresses = false;
template <class Each>
[[nodiscard]] int each_node_address(const std::string& list, Each each) {
    static_cast<void>(list);
    static_cast<void>(each);
    return SLURM_ERROR;
}
#endif

/// Calls each(job_id, state) for these jobs and perhaps others, among them all tasks of an
/// array whose id is in the list. Jobs that slurmctld does not know are left out.
#if SLURM_VERSION_NUMBER >= 0x180500
inline constexpr bool kHasJobStates = true;
template <class Each>
[[nodiscard]] int each_job_state(const std::vector<std::uint32_t>& job_ids, Each each) {
    std::vector<slurm_selected_step_t> asked;
    for (const std::uint32_t job_id : job_ids) {
        slurm_selected_step_t one{};
        one.array_task_id = NO_VAL;
        one.het_job_offset = NO_VAL;
        one.step_id.job_id = job_id;
        one.step_id.step_id = NO_VAL;
        one.step_id.step_het_comp = NO_VAL;
        asked.push_back(one);
    }
    job_state_response_msg_t* reply = nullptr;
    const int done =
        ::slurm_load_job_state(static_cast<int>(asked.size()), asked.data(), &reply);
    const int cause = errno;
    for (std::uint32_t i = 0;
         done == SLURM_SUCCESS && reply != nullptr && i < reply->jobs_count;
         ++i) {
        each(reply->jobs[i].job_id, reply->jobs[i].state);
    }
    ::slurm_free_job_state_response_msg(reply);
    errno = cause;
    return done;
}
#else
inline constexpr bool kHasJobStates = false;
template <class Each>
[[nodiscard]] int each_job_state(const std::vector<std::uint32_t>& job_ids, Each each) {
    static_cast<void>(job_ids);
    static_cast<void>(each);
    return SLURM_ERROR;
}
#endif

}  // namespace stage
