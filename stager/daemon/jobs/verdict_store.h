// Stores the verdicts of this node's stages, so that they survive the daemon.
//
// Each stage has one small file of root, RUN_DIR/jobs/JOB.STEP.RESTART, which is only ever
// replaced as a whole. When a stage begins, the file says that the daemon broke off; the
// verdict replaces it. So whenever the daemon ends, the file is true. Beside these files
// JOB.root names the StageRoot that has the job's directory (job_roots.h).
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
    /// Makes `directory` (0700, owned by root) if needed.
    static Result<VerdictStore> open(const std::string& directory);

    /// Requires fits(verdict). `culprit`: the rank that a failure's sentence names first; none:
    /// this node.
    [[nodiscard]] Status save(const StageKey& key,
                              const Verdict& verdict,
                              std::optional<Rank> culprit = {});
    /// Nothing if there is no file, or none that can be read.
    [[nodiscard]] std::optional<Verdict> load(const StageKey& key) const;
    [[nodiscard]] std::optional<Rank> culprit_of(const StageKey& key) const;
    void forget(const StageKey& key);

    [[nodiscard]] Status save_root(std::uint32_t job_id, const std::string& root);
    [[nodiscard]] std::optional<std::string> root_of(std::uint32_t job_id) const;
    void forget_root(std::uint32_t job_id);
    /// All jobs that have a stored root.
    [[nodiscard]] std::vector<std::uint32_t> rooted() const;

    /// All stages that have a file.
    [[nodiscard]] std::vector<StageKey> all() const;

  private:
    explicit VerdictStore(UniqueFd directory) : directory_{std::move(directory)} {}
    [[nodiscard]] Status replace(const std::string& name, Bytes bytes);
    [[nodiscard]] std::vector<std::byte> read(const std::string& name) const;

    UniqueFd directory_;
};

}  // namespace stage
