// Implements SpankHandle with Slurm's spank_t and the process in which the plugin runs.
#pragma once

#include "spank/host/spank_handle.h"

// Slurm 22.05's header declares the hooks outside its own extern "C".
extern "C" {
#include <slurm/spank.h>
}

namespace stage {

class SlurmHost final : public SpankHandle {
  public:
    /// `slurm` is borrowed for the duration of one hook.
    explicit SlurmHost(spank_t slurm) : slurm_{slurm} {}

    [[nodiscard]] Context context() const override;
    [[nodiscard]] std::optional<std::uint32_t> item(Item item) const override;
    [[nodiscard]] std::optional<std::string> job_variable(const char* name) const override;
    void set_job_variable(const char* name, const std::string& value) override;
    void unset_job_variable(const char* name) override;
    [[nodiscard]] std::optional<std::string> variable(const char* name) const override;
    void set_variable(const char* name, const std::string& value) override;
    void unset_variable(const char* name) override;
    [[nodiscard]] bool hand_to_prolog(const char* name, const std::string& value) override;
    [[nodiscard]] std::string client() const override;
    [[nodiscard]] std::vector<std::string> command_line() const override;
    [[nodiscard]] std::size_t options_end() const override;
    [[nodiscard]] std::string working_directory() const override;
    [[nodiscard]] std::optional<ClusterFacts> cluster_facts() const override;
    void say_error(const std::string& sentence) override;
    void say(const std::string& sentence) override;
    void say_in_task(const std::string& sentence) override;

  private:
    spank_t slurm_;
};

}  // namespace stage
