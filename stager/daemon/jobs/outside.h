// Records in the stage's cleanup list which paths outside its directory a stage uses.
//
// The list is written before the stage's worker begins: the end of another stage must not
// remove a file that this one may find in its place. The paths in an `@LIST`, and those of a
// pattern
// (%j), are known only when the worker has read it; until then the stage counts as using every
// path of its user.
#pragma once

#include "stager/control/message.h"
#include "stager/messages/worker_setup.h"
#include "stager/spawn/cleanup_lists.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The absolute paths in `specs` (spec_list.h); "/" stands for an `@LIST` or a pattern. Empty
/// for malformed specs, since no such stage begins.
[[nodiscard]] std::vector<std::string> outside_of(std::string_view specs);

/// The cleanup list of one stage.
class OutsideFiles {
  public:
    /// Opens the list below the open StageRoot and writes the paths of the request. Makes no
    /// list if there are none. May be called again for the same stage.
    [[nodiscard]] Status begin(int root, const StageRequest& request);
    /// Writes what a message of the stage's worker adds to the list.
    [[nodiscard]] Status on_message(const FromWorker& message);

  private:
    std::optional<CleanupList> list_;
};

}  // namespace stage
