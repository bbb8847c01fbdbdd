// Remembers the directories that a stage makes above its destinations, and removes the empty
// ones.
//
// What mkdir -p would make for an absolute destination is not staged, but would not be there
// without the stage: where that fails, or gives up an optional file, it goes. The node's daemon
// is told of each before it is made (cleanup_entry.h), so that it also goes with what is
// `temp`, and with a worker that is killed: in every case only if it is empty then.
#pragma once

#include "transport/base/result.h"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace stage {

class MadeDirectories {
  public:
    using Tell = std::function<Status(const std::vector<std::string>& entries)>;

    /// `tell` extends the stage's cleanup list; empty: there is none.
    explicit MadeDirectories(Tell tell = {}) : tell_{std::move(tell)} {}
    MadeDirectories(const MadeDirectories&) = delete;
    MadeDirectories& operator=(const MadeDirectories&) = delete;
    ~MadeDirectories() { prune(); }

    /// Makes `name` in the open directory `parent`; that it is there already is good. `path`:
    /// all of it. Fails with errno as the error's cause.
    [[nodiscard]] Status make(int parent, const std::string& name, const std::string& path);

    /// Removes those that are empty. What is going to write into one opens it anew, or fails.
    void prune();

  private:
    Tell tell_;
    std::mutex guard_;               ///< The disk thread and the one that ends the work.
    std::vector<std::string> made_;  ///< Absolute, in order.
};

}  // namespace stage
