// What do we ask of our host?
//
// Everything that Slurm, and the process we are a guest in, can tell or do for the plugin: the
// seam between the rules of submit_side, prolog_side and step_side and slurm/spank.h. SlurmHost
// (slurm_host.h) is the real one; the unit tests have their own. Whoever implements it neither
// throws nor blocks, but in cluster_facts(), which asks slurmctld.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// In whose process a hook runs.
enum class Context : unsigned char {
    local,       ///< srun, on the submit host or on a node.
    allocator,   ///< sbatch or salloc.
    remote,      ///< slurmstepd, root.
    job_script,  ///< The process of prolog or epilog, root.
    other,       ///< slurmd and what a later Slurm invents.
};

/// Numbers that Slurm vouches for. Which are there depends on the context.
enum class Item : unsigned char {
    job_id,
    step_id,
    uid,
    gid,
    node_id,
    node_count,
    restart,
    task
};

/// What slurmctld is configured to do.
struct ClusterFacts {
    std::string name{};
    bool prolog_at_allocation =
        false;                   ///< PrologFlags has Alloc (or Contain, which implies it).
    bool prolog_serial = false;  ///< PrologFlags has Serial.
    bool prolog_in_job = false;  ///< PrologFlags has RunInJob.
    bool private_tmp = false;    ///< Each job has a /tmp and a /dev/shm of its own.
};

class SpankHandle {
  public:
    virtual ~SpankHandle() = default;

    [[nodiscard]] virtual Context context() const = 0;
    [[nodiscard]] virtual std::optional<std::uint32_t> item(Item item) const = 0;

    /// The job's environment, in Context::remote.
    [[nodiscard]] virtual std::optional<std::string> job_variable(const char* name) const = 0;
    virtual void set_job_variable(const char* name, const std::string& value) = 0;
    virtual void unset_job_variable(const char* name) = 0;

    /// Our own process's environment: the user's in a client, slurmd's making in a prolog.
    [[nodiscard]] virtual std::optional<std::string> variable(const char* name) const = 0;
    virtual void set_variable(const char* name, const std::string& value) = 0;
    virtual void unset_variable(const char* name) = 0;

    /// Puts SPANK_`name` into the environment of the job's prolog and epilog (and
    /// SLURM_SPANK_`name` into the job's, but for a job made by srun). Only in init_post_opt of
    /// a client.
    [[nodiscard]] virtual bool hand_to_prolog(const char* name, const std::string& value) = 0;

    /// What the client is called: "sbatch", "salloc", "srun".
    [[nodiscard]] virtual std::string client() const = 0;
    /// The client's own arguments, without its name.
    [[nodiscard]] virtual std::vector<std::string> command_line() const = 0;
    /// getopt's optind in this process: where the options end that the client has parsed last,
    /// counted from its name (from the ":" before a later component) as 0.
    [[nodiscard]] virtual std::size_t options_end() const = 0;
    /// The client's working directory, absolute, as the user sees it; empty if there is none.
    [[nodiscard]] virtual std::string working_directory() const = 0;
    /// Nothing if slurmctld does not answer; submitting will tell the user.
    [[nodiscard]] virtual std::optional<ClusterFacts> cluster_facts() const = 0;

    /// One line for whoever reads: the user's terminal, the job's stderr or slurmd's log.
    virtual void say_error(const std::string& sentence) = 0;
    virtual void say(const std::string& sentence) = 0;
    /// In the forked task: one line on the task's own stderr, without a "slurmstepd: error:".
    virtual void say_in_task(const std::string& sentence) = 0;

  protected:
    SpankHandle() = default;
    SpankHandle(const SpankHandle&) = default;
    SpankHandle(SpankHandle&&) = default;
    SpankHandle& operator=(const SpankHandle&) = default;
    SpankHandle& operator=(SpankHandle&&) = default;
};

}  // namespace stage
