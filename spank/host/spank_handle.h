// The interface to Slurm and to the host process that the plugin is loaded into.
//
// It separates the rules of submit_side, prolog_side and step_side from slurm/spank.h.
// SlurmHost (slurm_host.h) implements it; the unit tests have their own. An implementation
// neither throws nor blocks, except in cluster_facts(), which asks slurmctld.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// The process in which a hook runs.
enum class Context : unsigned char {
    local,       ///< srun, on the submit host or on a node.
    allocator,   ///< sbatch or salloc.
    remote,      ///< slurmstepd, root.
    job_script,  ///< The process of prolog or epilog, root.
    other,       ///< slurmd, and contexts of later releases.
};

/// Numbers that Slurm itself provides. Availability depends on the context.
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

/// The relevant part of slurmctld's configuration.
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

    /// The environment of this process: the user's in a client, made by slurmd in a prolog.
    [[nodiscard]] virtual std::optional<std::string> variable(const char* name) const = 0;
    virtual void set_variable(const char* name, const std::string& value) = 0;
    virtual void unset_variable(const char* name) = 0;

    /// Sets SPANK_`name` in the environment of the job's prolog and epilog (and
    /// SLURM_SPANK_`name` in the job's, except for a job made by srun). Only in init_post_opt
    /// of a client.
    [[nodiscard]] virtual bool hand_to_prolog(const char* name, const std::string& value) = 0;

    /// The client's name: "sbatch", "salloc" or "srun".
    [[nodiscard]] virtual std::string client() const = 0;
    /// The client's arguments, without its name.
    [[nodiscard]] virtual std::vector<std::string> command_line() const = 0;
    /// getopt's optind in this process: the end of the options that the client has parsed last,
    /// counted from its name (from the ":" before a later component) as 0.
    [[nodiscard]] virtual std::size_t options_end() const = 0;
    /// The client's working directory: absolute, the logical path; empty if it does not exist.
    [[nodiscard]] virtual std::string working_directory() const = 0;
    /// Returns nothing if slurmctld does not answer; Slurm's own submission then fails with a
    /// message.
    [[nodiscard]] virtual std::optional<ClusterFacts> cluster_facts() const = 0;

    /// Writes one line to the user's terminal, the job's stderr or slurmd's log.
    virtual void say_error(const std::string& sentence) = 0;
    virtual void say(const std::string& sentence) = 0;
    /// In the forked task: writes one line to the task's stderr, without a "slurmstepd:
    /// error:".
    virtual void say_in_task(const std::string& sentence) = 0;

  protected:
    SpankHandle() = default;
    SpankHandle(const SpankHandle&) = default;
    SpankHandle(SpankHandle&&) = default;
    SpankHandle& operator=(const SpankHandle&) = default;
    SpankHandle& operator=(SpankHandle&&) = default;
};

}  // namespace stage
