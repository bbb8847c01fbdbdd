// Keeps a stage's result on one node: stores it, and answers the callers that wait for it.
//
// What is stored while the stage is under way says that the daemon broke off: if the daemon
// dies, the next one finds that. Nothing is stored before the plugin has announced the stage.
#pragma once

#include "stager/control/message.h"
#include "transport/base/units.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stage {

class Logger;
class VerdictStore;

class StageResult {
  public:
    using OnVerdict = std::function<void(const Verdict&)>;

    /// Both references outlive it.
    StageResult(VerdictStore& verdicts, const Logger& log, StageKey key)
        : verdicts_{verdicts}, log_{log}, key_{key} {}

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

    VerdictStore& verdicts_;
    const Logger& log_;
    StageKey key_;
    bool is_stored_ = false;
    std::optional<Verdict> verdict_;
    std::optional<Rank> culprit_;
    bool is_answered_ = false;
    std::vector<OnVerdict> waiting_;
};

}  // namespace stage
