// The calls of the PMIx client library that stagecast uses.
//
// They return the own rank, the group's size, all members' bytes and a context id. Each call
// blocks, some of them forever if the host is stuck: pmix_directory.h runs them in a thread of
// its own and limits the wait.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// The calls must be made in this order and from one thread.
class PmixClient {
  public:
    /// Calls PMIx_Init and gets the job's size.
    [[nodiscard]] Status start();
    [[nodiscard]] std::uint32_t rank() const { return rank_; }
    [[nodiscard]] std::uint32_t size() const { return size_; }

    /// Runs Put, Commit, Fence and a Get for each member. Returns all members' bytes by rank,
    /// each of at most `limit`.
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> exchange(Bytes own,
                                                                       std::size_t limit);
    /// Runs PMIx_Group_construct for the whole job. Returns nothing where the server has no
    /// groups.
    [[nodiscard]] Result<std::optional<std::uint64_t>> construct_group();
    void finish();

    /// The pending or last call, for a caller that gave up waiting. Callable from any thread.
    [[nodiscard]] const char* at() const { return at_.load(); }

  private:
    [[nodiscard]] Result<std::vector<std::byte>> fetch(std::uint32_t rank,
                                                       std::size_t limit) const;

    std::string name_space_;
    std::uint32_t rank_ = 0;
    std::uint32_t size_ = 0;
    std::atomic<const char*> at_{"no call"};
};

}  // namespace stage
