// The core of a relay's receiver.
//
// It connects to its parent in the tree, requests the blocks for which it has memory, places
// what arrives, verifies and stores complete blocks, and passes chunks on to its own children
// as soon as they are here. If its parent fails it goes on with the next ancestor, from the
// first chunk that it misses.
#pragma once

#include "transport/base/link_event.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/relay/relay_limits.h"

#include <memory>

namespace stage::core {

class RelayReceiver {
  public:
    /// Requires config.own != config.source. `degree`: see RelayTree; the same on each member.
    RelayReceiver(const CoreConfig& config,
                  std::uint32_t degree,
                  RelayLimits limits = {},
                  Limits common = {});
    RelayReceiver(RelayReceiver&&) noexcept;
    RelayReceiver& operator=(RelayReceiver&&) = delete;
    RelayReceiver(const RelayReceiver&) = delete;
    RelayReceiver& operator=(const RelayReceiver&) = delete;
    ~RelayReceiver();

    void on_datagrams(Instant now, std::span<const Datagram> datagrams);
    void on_links(Instant now, std::span<const LinkEvent> events);
    void on_done(Instant now, std::span<const Completion> completions);
    void on_time(Instant now);
    void on_abort(Instant now, const Error& why);
    void on_all_listen(Instant now);
    void next_sends(Instant now, SendBatch& sends);
    void next_operations(Instant now, OperationBatch& operations);
    [[nodiscard]] std::optional<Instant> deadline() const;
    [[nodiscard]] const Outcome& outcome() const;

  private:
    /// The state and the components of the core.
    struct RelayReception;
    std::unique_ptr<RelayReception> reception_;
};

static_assert(ProtocolCore<RelayReceiver>);

}  // namespace stage::core
