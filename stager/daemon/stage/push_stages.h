// The interface of this node's stages to a push.
#pragma once

#include "stager/daemon/stage/stage.h"

#include <optional>

namespace stage {

class PushStages {
  public:
    PushStages() = default;
    PushStages(const PushStages&) = delete;
    PushStages& operator=(const PushStages&) = delete;
    virtual ~PushStages() = default;

    /// Begins a round of a push; `plan` has its specs. `passage`: at a gateway, what is pushed.
    virtual void push(const StageKey& key,
                      const StagePlan& plan,
                      const std::optional<RunPassage>& passage,
                      Stage::OnVerdict on_verdict) = 0;
    /// Null when the stage is over.
    [[nodiscard]] virtual Stage* find(const StageKey& key) = 0;
};

}  // namespace stage
