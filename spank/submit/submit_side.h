// What happens to --stage-file= in sbatch, salloc and srun, before anything is submitted?
//
// Slurm calls on_option() for each occurrence, then on_options_parsed(), once for each
// component of a heterogeneous job. All is checked there, as the user, where the user still
// sees it; what is right is handed to the job's prolog, or to the step's tasks where srun makes
// a step in a job that is there already. Whatever is wrong comes back as an Error, and the
// client must end: under `optional` in plugstack.conf Slurm itself would ignore it and submit.
#pragma once

#include "spank/host/options.h"
#include "spank/host/spank_handle.h"
#include "spank/submit/client_words.h"
#include "stager/spec/spec_list.h"

#include <string>
#include <vector>

namespace stage {

class SubmitSide {
  public:
    explicit SubmitSide(Arguments arguments) : arguments_{std::move(arguments)} {}

    /// One occurrence. `inherited`: kInheritedOption is set in this process (see names.h).
    void on_option(std::string_view value, bool inherited);
    /// --stage-timeout and --stage-verbose: the last word counts; without files they say
    /// nothing.
    void on_timeout(std::string_view value) { timeout_ = value.substr(0, kMaxTimeoutBytes); }
    void on_verbose() { is_verbose_ = true; }

    /// Hands on what was collected and forgets it. Without the option it costs a look at the
    /// client's own arguments and environment.
    [[nodiscard]] Status on_options_parsed(SpankHandle& handle);

    /// Something was asked for and not yet handed on: a breakdown now must end the client.
    [[nodiscard]] bool is_pending() const { return !values_.empty(); }

  private:
    static constexpr std::size_t kMaxTimeoutBytes = 64;

    void take_defaults(const SpankHandle& handle, std::span<const std::string> own);
    [[nodiscard]] Result<StageOptions> wishes(const SpankHandle& handle,
                                              const Site& site) const;
    [[nodiscard]] Result<std::vector<StageSpec>> specs(const SpankHandle& handle) const;
    [[nodiscard]] Result<std::string> checked(SpankHandle& handle,
                                              const ClientWords& words,
                                              const Site& site,
                                              StageOptions wanted);
    [[nodiscard]] Status hand_to_job(SpankHandle& handle, const std::string& line);
    [[nodiscard]] Status hand_to_step(SpankHandle& handle, const std::string& line);

    Arguments arguments_;
    ClientOptions options_;
    std::vector<std::string> values_;  ///< Of the component at hand; bounded, see on_option.
    std::size_t value_bytes_ = 0;
    std::string origin_;  ///< Where values_ come from, for sentences.
    std::string timeout_;
    bool is_verbose_ = false;
    bool is_first_value_ = true;   ///< No occurrence seen for this component.
    std::size_t component_ = 0;    ///< Components parsed so far.
    bool has_step_specs_ = false;  ///< A component before had specs for its step.
};

}  // namespace stage
