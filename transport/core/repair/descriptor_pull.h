// How does a member learn the descriptors that it did not hear?
//
// One request at a time, for the first few gaps, to one peer after the other until one answers,
// then to that; the source if nobody else does (who holds a block long since knows its
// descriptor no more). A peer answers with what it has from there on.
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

    /// Descriptors came from `from`: if they were asked for, the next gap may be.
    void on_describe(Rank from);
    void on_lacking(Rank from, std::uint32_t id);

    /// Asks for what is unknown below `below`. `puller` knows peers and times.
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
    std::optional<Rank> helper_;  ///< It answered the last time.
    std::uint32_t failures_ = 0;
    Instant ask_after_ = kLongAgo;
    bool is_wanting_ = false;
};

}  // namespace stage::core
