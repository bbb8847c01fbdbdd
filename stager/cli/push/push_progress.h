// Shows the progress of a push: on a terminal a line that is redrawn, elsewhere a line at
// intervals.
#pragma once

#include "stager/control/message.h"
#include "transport/base/units.h"

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace stage {

/// Formats the daemon's report: "sending: 12.0 of 80.0 MB, 3.1 MB/s, 22 s to go, 3 of 14 nodes
/// done, slowest n7".
[[nodiscard]] std::string progress_line(const nlohmann::json& push);

class PushProgress {
  public:
    /// Asks the daemon at `socket` about the push `id`. Shows nothing if `is_quiet`.
    PushProgress(std::string socket, const StageKey& id, bool is_quiet);

    void show();
    /// Erases the line on the terminal.
    void clear();

  private:
    std::string socket_;
    StageKey id_;
    bool is_quiet_;
    bool is_terminal_;
    bool is_drawn_ = false;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace stage
