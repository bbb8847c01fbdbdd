// The core of a relay's source.
//
// It offers the object to the members that connect to it as children, reads blocks in order a
// few ahead of what they request, and sends them. It learns by DONE which members hold the
// object, and by LEAVE which cannot, and ends the broadcast by RELEASE. Packets go by a driver
// with reliable unicast: nothing is sent twice on one connection, and nothing is paced.
#pragma once

#include "transport/base/link_event.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/relay/relay_limits.h"

#include <memory>

namespace stage::core {

class RelaySource {
  public:
    /// Requires config.own == config.source. `degree`: see RelayTree; the same on each member.
    RelaySource(const CoreConfig& config,
                const ObjectShape& shape,
                std::uint32_t degree,
                RelayLimits limits = {});
    RelaySource(RelaySource&&) noexcept;
    RelaySource& operator=(RelaySource&&) = delete;
    RelaySource(const RelaySource&) = delete;
    RelaySource& operator=(const RelaySource&) = delete;
    ~RelaySource();

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
    struct RelayTransmission;
    std::unique_ptr<RelayTransmission> transmission_;
};

static_assert(ProtocolCore<RelaySource>);

}  // namespace stage::core
