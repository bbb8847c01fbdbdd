// Which names does the plugin share with Slurm, with itself on other hosts, and with the job?
#pragma once

namespace stage {

// How the specs travel (measured with 22.05; each line is why the next exists):
//
// * Slurm hands on only the last value of a repeated option. So the client collects them all
// and
//   hands them to the prolog as a job-control variable.
// * That variable reaches the job's environment (SLURM_SPANK_...) from sbatch and salloc, but
// not
//   from an srun that makes its own allocation: there we export the sign ourselves. In a batch
//   step under --export=NONE the option itself does not arrive, but this variable does.
// * A step's own specs have no prolog. They travel in the environment that srun hands its
// tasks;
//   SLURM_* survives srun --export=NONE.
// * Inside a job, Slurm gives every client the job's option again, before those of its command
// line,
//   from the variable kInheritedOption. An inherited option stages nothing anew: neither in a
//   step nor in a job that is submitted from a job. In a heterogeneous job the second component
//   gets that of the first this way, too.
inline constexpr const char* kHandedName = "STAGECAST_SPECS";
inline constexpr const char* kPrologSpecs = "SPANK_STAGECAST_SPECS";
inline constexpr const char* kJobSign = "SLURM_SPANK_STAGECAST_SPECS";
inline constexpr const char* kStepSpecs = "SLURM_STAGECAST_STEP";
inline constexpr const char* kInheritedOption =
    "SLURM_SPANK__SLURM_SPANK_OPTION_stagecast_stage_file";
/// The same of pyxis' --container-image.
inline constexpr const char* kInheritedContainer =
    "SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_image";

// Where no --stage-file is given, each client takes what its own variable says: a spec a line.
inline constexpr const char* kSbatchDefault = "SBATCH_STAGE_FILE";
inline constexpr const char* kSallocDefault = "SALLOC_STAGE_FILE";
inline constexpr const char* kSrunDefault = "SLURM_STAGE_FILE";

/// The sign's value where the sign must not be believed: a job made inside a job that stages.
inline constexpr const char* kNothing = "none";
/// The sign's value in a step that srun begins from outside of its job: whether that has files
/// only the nodes' daemons know.
inline constexpr const char* kAsk = "ask";
/// The sign's value where the specs themselves need not be repeated.
inline constexpr const char* kSomething = "given";

// What the job sees (DESIGN: interfaces that tests and sites rest on).
inline constexpr const char* kStageDir = "STAGECAST_DIR";
inline constexpr const char* kStageFiles = "STAGECAST_FILES";
inline constexpr const char* kJobStatus = "STAGECAST_JOB_STATUS";
/// Where a step's own files lie: "$STAGECAST_DIR/step.N".
inline constexpr const char* kStepDir = "STAGECAST_STEP_DIR";

}  // namespace stage
