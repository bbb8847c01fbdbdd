// Processes --stage-file in sbatch, salloc and srun before submission.
//
// Slurm calls on_option() for each occurrence, then on_options_parsed(), once for each
// component of a heterogeneous job. All checks run there, as the user, who sees their messages.
// Valid specs are handed to the job's prolog, or to the step's tasks where srun makes a step in
// an existing job. An Error must end the client: under `optional` in plugstack.conf Slurm would
// ignore a failed hook and submit.
#pragma once

#include "spank/host/options.h"
#include "spank/host/spank_handle.h"
#include "spank/submit/client_words.h"
#include "stager/spec/spec_list.h"
#include "stager/spec/ticket.h"

#include <string>
#include <vector>

namespace stage {

class SubmitSide {
  public:
    explicit SubmitSide(Arguments arguments) : arguments_{std::move(arguments)} {}

    /// Records one occurrence. `inherited`: kInheritedOption is set in this process (see
    /// names.h).
    void on_option(std::string_view value, bool inherited);
    /// --stage-timeout, --stage-verbose, --stage-no-kill, --stage-ticket: the last one counts;
    /// without files they have no effect.
    void on_timeout(std::string_view value) { timeout_ = value.substr(0, kMaxTimeoutBytes); }
    void on_verbose() { is_verbose_ = true; }
    void on_no_kill() { is_no_kill_ = true; }
    void on_ticket(std::string_view value) { ticket_ = value.substr(0, 2 * kMaxTicketText); }

    /// Hands the collected specs on and clears them. Without the option it only reads the
    /// client's arguments and environment.
    [[nodiscard]] Status on_options_parsed(SpankHandle& handle);

    /// True while specs are collected but not handed on: a failure then must end the client.
    [[nodiscard]] bool is_pending() const { return !values_.empty(); }

  private:
    static constexpr std::size_t kMaxTimeoutBytes = 64;

    void take_defaults(const SpankHandle& handle, std::span<const std::string> own);
    [[nodiscard]] Result<StageOptions> options_of(const SpankHandle& handle,
                                                  const Site& site) const;
    [[nodiscard]] Result<std::vector<StageSpec>> specs(const SpankHandle& handle) const;
    /// `own`: the job's cluster, if it is known.
    [[nodiscard]] Status take_cluster(const std::string& own,
                                      const std::vector<StageSpec>& specs,
                                      StageOptions& wanted) const;
    [[nodiscard]] Result<std::string> checked(SpankHandle& handle,
                                              const ClientWords& words,
                                              const Site& site,
                                              StageOptions wanted);
    [[nodiscard]] Status hand_to_job(SpankHandle& handle, const std::string& line);
    [[nodiscard]] Status hand_to_step(SpankHandle& handle, const std::string& line);

    Arguments arguments_;
    ClientOptions options_;
    std::vector<std::string> values_;  ///< The current component's; bounded, see on_option.
    std::size_t value_bytes_ = 0;
    std::string origin_;  ///< Where values_ come from, for messages.
    std::string timeout_;
    std::string ticket_;
    bool is_verbose_ = false;
    bool is_no_kill_ = false;
    bool is_first_value_ = true;   ///< No occurrence seen for this component.
    std::size_t component_ = 0;    ///< Components parsed so far.
    bool has_step_specs_ = false;  ///< An earlier component had specs for its step.
};

}  // namespace stage
