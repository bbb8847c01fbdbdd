// What does a node still know of its stages when its daemon has died?
//
// One small file of root's per stage, RUN_DIR/jobs/JOB.STEP.RESTART, replaced as a whole. It is
// written the moment a stage begins, saying that the daemon broke off; the verdict replaces it.
// So whatever moment the daemon dies at, what is found says the truth. Beside them JOB.root:
// the StageRoot that has the job's directory (job_roots.h).
#pragma once

#include "stager/control/message.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <optional>
#include <string>
#include <vector>

namespace stage {

class VerdictStore {
  public:
    /// Makes `directory` (0700, root's) if needed.
    static Result<VerdictStore> open(const std::string& directory);

    /// Requires fits(verdict). `culprit`: whom a failure's sentence names first, by rank;
    /// nobody: this node.
    [[nodiscard]] Status save(const StageKey& key,
                              const Verdict& verdict,
                              std::optional<Rank> culprit = {});
    /// Nothing if there is none, or none that can be read.
    [[nodiscard]] std::optional<Verdict> load(const StageKey& key) const;
    [[nodiscard]] std::optional<Rank> culprit_of(const StageKey& key) const;
    void forget(const StageKey& key);

    [[nodiscard]] Status save_root(std::uint32_t job_id, const std::string& root);
    [[nodiscard]] std::optional<std::string> root_of(std::uint32_t job_id) const;
    void forget_root(std::uint32_t job_id);
    /// Every job that has one.
    [[nodiscard]] std::vector<std::uint32_t> rooted() const;

    /// Every stage that has a file.
    [[nodiscard]] std::vector<StageKey> all() const;

  private:
    explicit VerdictStore(UniqueFd directory) : directory_{std::move(directory)} {}
    [[nodiscard]] Status replace(const std::string& name, Bytes bytes);
    [[nodiscard]] std::vector<std::byte> read(const std::string& name) const;

    UniqueFd directory_;
};

}  // namespace stage
