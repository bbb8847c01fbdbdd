// Decides which blocks a member of a relay requests, and of which parent.
//
// Block b is of stripe b mod `stripes`, and is requested of that stripe's parent. For each
// stripe the member requests its next blocks in order, as many as there is memory for; what
// was requested and did not arrive is requested again where another parent takes over.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/receiver/reassembly.h"
#include "transport/core/relay/relay_limits.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace stage::core {

class RelayRequests {
  public:
    /// `reassembly` must outlive this.
    RelayRequests(const CoreConfig& config,
                  const RelayLimits& limits,
                  std::uint32_t stripes,
                  Reassembly& reassembly);

    /// New blocks of the stripe; no runs if there is no memory or no block left. Requires
    /// reassembly.has_begun().
    [[nodiscard]] wire::Request more(std::uint32_t stripe);
    /// What is missing of the stripe's blocks that more() has named.
    [[nodiscard]] wire::Request again(std::uint32_t stripe) const;
    /// True if more() has named a block since the last call that was wrong twice or more.
    [[nodiscard]] bool take_wrong_again() { return std::exchange(is_wrong_again_, false); }

  private:
    [[nodiscard]] bool is_filling(const OpenBlock& open, std::uint32_t stripe) const;
    [[nodiscard]] const OpenBlock* open_next(std::uint32_t stripe);
    void look_back();

    std::uint32_t most_;  ///< Blocks of a stripe that are requested and incomplete.
    Reassembly& reassembly_;
    bool is_wrong_again_ = false;
    /// By stripe: none of its blocks before this one is absent.
    std::vector<std::uint32_t> absent_from_;
};

}  // namespace stage::core
