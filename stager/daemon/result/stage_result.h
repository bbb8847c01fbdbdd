// Keeps a stage's result on one node: stores it, and answers the callers that wait for it.
//
// What is stored while the stage is under way says that the daemon broke off: if the daemon
// dies, the next one finds that. Nothing is stored before the plugin has announced the stage.
#pragma once

#include "stager/daemon/base/services.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stage {

class StageResult {
  public:
    using OnVerdict = std::function<void(const Verdict&)>;

    /// `services` outlives it.
    StageResult(Services& services, StageKey key) : services_{services}, key_{key} {}

    /// Answered once: by answer(), or at once after that.
    void await(OnVerdict on_verdict);
    /// The plugin has announced the stage on this node, `node`.
    void begin(const std::string& node);
    /// The verdict is known; once. `culprit`: of a failed one, if it is another node. Callers
    /// wait until answer().
    void set(Verdict verdict, std::optional<Rank> culprit);
    /// Requires set(). More than once is the same as once.
    void answer();

    [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }
    [[nodiscard]] std::optional<Rank> culprit() const { return culprit_; }

  private:
    void store(const Verdict& verdict) const;

    Services& services_;
    StageKey key_;
    bool is_stored_ = false;
    std::optional<Verdict> verdict_;
    std::optional<Rank> culprit_;
    bool is_answered_ = false;
    std::vector<OnVerdict> waiting_;
};

}  // namespace stage
