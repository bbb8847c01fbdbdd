// What does stagecast ask of a PMIx client library?
//
// Who am I among how many; everybody's bytes for mine; a context id. Each call blocks, some of
// them for ever on a host that is stuck: pmix_directory.h bounds them by a thread of their own.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// The calls, all from one thread, in this order.
class PmixClient {
  public:
    /// PMIx_Init and the job's size.
    [[nodiscard]] Status start();
    [[nodiscard]] const std::string& name_space() const { return name_space_; }
    [[nodiscard]] std::uint32_t rank() const { return rank_; }
    [[nodiscard]] std::uint32_t size() const { return size_; }

    /// Put, Commit, Fence, a Get each: everybody's bytes, by rank. Each of at most `limit`.
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> exchange(Bytes own,
                                                                       std::size_t limit);
    /// PMIx_Group_construct of the whole job. Nothing where the host has no groups.
    [[nodiscard]] Result<std::optional<std::uint64_t>> construct_group();
    void finish();

    /// The call that is under way, or was last: for whoever gave up waiting, from any thread.
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
