// Carries byte strings of any length among the leaders of a call, and within a node.
#pragma once

#include "stager/mpi/collectives.h"
#include "transport/base/result.h"
#include "transport/base/units.h"

#include <vector>

namespace stage {

class Leaders {
  public:
    /// `table` must outlive this.
    explicit Leaders(const stagecast_collectives& table) : table_{table} {}

    [[nodiscard]] int rank() const { return table_.rank; }
    [[nodiscard]] bool is_leader() const { return table_.leader >= 0; }
    /// On the root: it is leader 0.
    [[nodiscard]] bool is_root() const { return table_.leader == 0; }
    /// Requires is_leader().
    [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(table_.leader); }
    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(table_.leaders); }

    // All fail with Blame::node, and only if MPI does.
    /// Leaders only: what the root has in `bytes` is in that of all.
    [[nodiscard]] Status broadcast(std::vector<std::byte>& bytes);
    /// Leaders only: the bytes of all, by leader.
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> gather(Bytes own);
    /// All ranks: what the leader has is in the `bytes` of all ranks of its node.
    [[nodiscard]] Status share(std::vector<std::byte>& bytes);
    /// All ranks: a number of each rank.
    [[nodiscard]] Result<std::vector<int>> gather_number(int own);

  private:
    using Carry = int (*)(void*, void*, std::size_t);

    [[nodiscard]] Status carry(Carry how, std::vector<std::byte>& bytes);
    [[nodiscard]] Error failed(int error) const;

    const stagecast_collectives& table_;
};

}  // namespace stage
