// Stores the verdicts of this node's stages, so that they survive the daemon.
//
// Each stage has one small file of root, RUN_DIR/jobs/JOB.STEP.RESTART, which is only ever
// replaced as a whole. When a stage begins, the file says that the daemon broke off; the
// verdict replaces it. So whenever the daemon ends, the file is true. Beside these files
// JOB.root names the StageRoot that has the job's directory (job_roots.h).
//
// What can't be written, as in a RunDir that is full, stays in memory, where it is found like a
// file, and is written with a later one. No stage fails because of it: only a daemon that is
// restarted meanwhile does not find it.
#pragma once

#include "stager/control/message.h"
#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/os/unique_fd.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stage {

class VerdictStore {
  public:
    /// Bytes that are kept in memory at most; beyond that what can't be written is lost.
    static constexpr std::size_t kUnwrittenMax = 16U << 20U;

    /// Makes `directory` (0700, owned by root) if needed.
    static Result<VerdictStore> open(const std::string& directory);

    /// Requires fits(verdict). `culprit`: the rank that a failure's sentence names first; none:
    /// this node. Fails if it is not on the disk now.
    [[nodiscard]] Status save(const StageKey& key,
                              const Verdict& verdict,
                              std::optional<Rank> culprit = {});
    /// Nothing if there is no file, or none that can be read.
    [[nodiscard]] std::optional<Verdict> load(const StageKey& key) const;
    [[nodiscard]] std::optional<Rank> culprit_of(const StageKey& key) const;
    void forget(const StageKey& key);

    /// Fails if it is not on the disk now.
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
    [[nodiscard]] Status write(const std::string& name, Bytes bytes) const;
    void keep(const std::string& name, Bytes bytes);
    void write_kept();
    void remove(const std::string& name);
    [[nodiscard]] std::vector<std::byte> read(const std::string& name) const;
    [[nodiscard]] std::vector<std::string> names() const;

    UniqueFd directory_;
    /// What is not on the disk, by the file's name. There is no file then.
    std::map<std::string, std::vector<std::byte>> unwritten_;
};

}  // namespace stage
