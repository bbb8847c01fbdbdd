// Which paths outside its directory does a stage ask for, and how is that remembered?
//
// In the stage's cleanup list, before its worker begins: another stage's end must not remove a
// file that this one may find in its place. What an `@LIST` or a pattern (%j) names is known
// only once the worker has read it; until then the stage counts as using any path of its
// user's.
#pragma once

#include "stager/control/message.h"
#include "stager/messages/worker_setup.h"
#include "stager/spawn/cleanup_lists.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// Absolute paths; "/" with an `@LIST` or a pattern. `specs`: spec_list.h; of malformed ones
/// none, since no such stage begins.
[[nodiscard]] std::vector<std::string> outside_of(std::string_view specs);

/// What one stage has outside its directory, in its cleanup list.
class OutsideFiles {
  public:
    /// Opens the list below the open StageRoot, with the paths that the request asks for. There
    /// is no list if there are none. May be called again, for the same stage.
    [[nodiscard]] Status begin(int root, const StageRequest& request);
    /// Of a worker of this stage: what is for the list is written there.
    [[nodiscard]] Status on_message(const FromWorker& message);

  private:
    std::optional<CleanupList> list_;
};

}  // namespace stage
