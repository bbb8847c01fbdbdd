// What does a node still know of its stages when its daemon has died?
//
// One small file of root's per stage, RUN_DIR/jobs/JOB.STEP.RESTART, replaced as a whole. It is
// written the moment a stage begins, saying that the daemon broke off; the verdict replaces it.
// So whatever moment the daemon dies at, what is found says the truth.
#pragma once

#include "stager/control/message.h"
#include "transport/base/result.h"
#include "transport/base/unique_fd.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

class VerdictStore {
  public:
    /// Makes `directory` (0700, root's) if needed.
    static Result<VerdictStore> open(const std::string& directory);

    /// Requires fits(verdict).
    [[nodiscard]] Status save(const StageKey& key, const Verdict& verdict);
    /// Nothing if there is none, or none that can be read.
    [[nodiscard]] std::optional<Verdict> load(const StageKey& key) const;
    void forget(const StageKey& key);

    /// Every stage that has a file.
    [[nodiscard]] std::vector<StageKey> all() const;

  private:
    explicit VerdictStore(UniqueFd directory) : directory_{std::move(directory)} {}
    [[nodiscard]] Status replace(const std::string& name, Bytes bytes);
    [[nodiscard]] std::vector<std::byte> read(const std::string& name) const;

    UniqueFd directory_;
};

}  // namespace stage
