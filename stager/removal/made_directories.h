// Records the directories that a stage makes above its destinations, and removes the empty
// ones.
//
// The directories that `mkdir -p` would make for an absolute destination are not staged, but
// exist only because of the stage: if it fails or skips an optional file, they are removed. The
// node's daemon gets an entry for each before it is made (cleanup_entry.h), so that the
// directory is also removed with files that are `temp` and after a worker was killed. In every
// case it is removed only if it is empty then.
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

    /// `tell` extends the stage's cleanup list; empty: the stage has no list.
    explicit MadeDirectories(Tell tell = {}) : tell_{std::move(tell)} {}
    MadeDirectories(const MadeDirectories&) = delete;
    MadeDirectories& operator=(const MadeDirectories&) = delete;
    ~MadeDirectories() { prune(); }

    /// Makes `name` in the open directory `parent`, unless it exists. `path` is its absolute
    /// path. Fails with errno as the error's cause.
    [[nodiscard]] Status make(int parent, const std::string& name, const std::string& path);

    /// Removes the empty directories. A writer that needs one of them later opens it anew, or
    /// fails.
    void prune();

  private:
    Tell tell_;
    std::mutex guard_;  ///< The disk thread and the thread that ends the work both call this.
    std::vector<std::string> made_;  ///< Absolute paths, in the order of making.
};

}  // namespace stage
