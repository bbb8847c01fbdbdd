// Requests the descriptors that a member did not hear.
//
// One request at a time, for the first few gaps. It asks one peer after the other until one
// answers, and then keeps asking that one. If no other member answers it asks the source,
// because members that have held a block for long no longer know its descriptor. A peer answers
// with the known descriptors from there on.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/descriptor_table.h"
#include "transport/core/repair/puller.h"
#include "transport/core/sending/control_queue.h"

#include <optional>

namespace stage::core {

class DescriptorPull {
  public:
    explicit DescriptorPull(const RepairLimits& limits) : limits_{limits} {}

    /// Descriptors arrived from `from`. If they were requested, also if the request was given
    /// up since, the next gap may be. What is sent to the group is no late answer.
    void on_describe(Rank from, bool to_group);
    void on_lacking(Rank from, std::uint32_t id);

    /// Requests what is unknown below `below`. `puller` provides peers and time-outs.
    void poll(Instant now,
              DescriptorTable& table,
              std::uint32_t below,
              Puller& puller,
              ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const;

  private:
    struct Asked {
        std::uint32_t id = 0;
        Rank peer;
        Instant sent_at{};
        Instant expires_at{};
    };

    void on_failure();

    RepairLimits limits_;
    std::optional<Asked> asked_;
    std::optional<Rank> helper_;  ///< The peer that answered last.
    std::optional<Rank> late_;    ///< The peer that was given up last.
    std::uint32_t failures_ = 0;
    Instant ask_after_ = kLongAgo;
    bool is_wanting_ = false;
};

}  // namespace stage::core
