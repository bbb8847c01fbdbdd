// The environment variables that the plugin shares with Slurm, its other instances and the job.
#pragma once

namespace stage {

// How the specs travel (measured with 22.05; each point is the reason for the next):
//
// * Slurm passes on only the last value of a repeated option. So the client collects them all
//   and passes them to the prolog as a job-control variable.
// * sbatch and salloc copy that variable to the job's environment (SLURM_SPANK_...). An srun
//   that makes its own allocation does not: there the plugin exports the sign itself. In a
//   batch step under --export=NONE the option itself does not arrive, but this variable does.
// * A step's own specs have no prolog. They travel in the environment that srun passes to its
//   tasks; SLURM_* survives srun --export=NONE.
// * Inside a job, Slurm gives every client the job's option again, before those of its command
//   line, from the variable kInheritedOption. An inherited option stages nothing: neither in a
//   step nor in a job that is submitted from a job. In a heterogeneous job the second component
//   inherits the first one's options in this way.
inline constexpr const char* kHandedName = "STAGECAST_SPECS";
inline constexpr const char* kPrologSpecs = "SPANK_STAGECAST_SPECS";
inline constexpr const char* kJobSign = "SLURM_SPANK_STAGECAST_SPECS";
inline constexpr const char* kStepSpecs = "SLURM_STAGECAST_STEP";
inline constexpr const char* kInheritedOption =
    "SLURM_SPANK__SLURM_SPANK_OPTION_stagecast_stage_file";
/// The corresponding variable of pyxis' --container-image.
inline constexpr const char* kInheritedContainer =
    "SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_image";

/// "no": the batch job's output has no line of what was staged.
inline constexpr const char* kSbatchReport = "SBATCH_STAGE_REPORT";

// Without --stage-file each client reads its own variable, with one spec per line.
inline constexpr const char* kSbatchDefault = "SBATCH_STAGE_FILE";
inline constexpr const char* kSallocDefault = "SALLOC_STAGE_FILE";
inline constexpr const char* kSrunDefault = "SLURM_STAGE_FILE";

/// The sign's value in a job that is made inside of a job with staged files: it has none
/// itself.
inline constexpr const char* kNothing = "none";
/// The sign's value in a step that srun starts from outside of its job: only the nodes' daemons
/// know whether the job has files.
inline constexpr const char* kAsk = "ask";
/// The sign's value where the specs themselves need not be repeated.
inline constexpr const char* kSomething = "given";

// Variables for the job (DESIGN: interfaces that tests and sites rely on).
inline constexpr const char* kStageDir = "STAGECAST_DIR";
inline constexpr const char* kStageFiles = "STAGECAST_FILES";
inline constexpr const char* kJobStatus = "STAGECAST_JOB_STATUS";
/// The nodes that the job goes on without, as srun --exclude= takes them.
inline constexpr const char* kDroppedNodes = "STAGECAST_DROPPED_NODES";
/// The node whose plugin has seen the step: what is inherited names another one. For
/// etc/examples/taskprolog.sh.
inline constexpr const char* kPluginNode = "STAGECAST_NODE";
/// The directory of a step's own files: "$STAGECAST_DIR/step.N".
inline constexpr const char* kStepDir = "STAGECAST_STEP_DIR";

}  // namespace stage
