// Issues and checks this cluster's tickets (stager/spec/ticket.h, TicketKey=).
#pragma once

#include "stager/config/config.h"
#include "stager/control/message.h"
#include "stager/link/shared_key.h"
#include "stager/spec/ticket.h"
#include "transport/base/log.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace stage {

/// A key that is unfit is logged, and then no ticket is issued or taken. `config` outlives it.
class Tickets {
  public:
    Tickets(const Config& config, const Logger& log);
    /// Reads the key again.
    void reread();

    /// A ticket for files of the user `uid`, as SO_PEERCRED states it. The report has
    /// "ticket" and "expires" (seconds since the epoch).
    [[nodiscard]] Answer issue(std::uint32_t uid,
                               const TicketRequest& request,
                               std::uint64_t now) const;

    /// The ticket, if this cluster has issued it for jobs of `for_uid` on `cluster`, and it has
    /// not expired more than StageTimeout ago: a staging that began in time may ask again.
    [[nodiscard]] Result<ReadTicket> open(std::string_view text,
                                          std::string_view cluster,
                                          std::uint32_t for_uid,
                                          std::uint64_t now) const;

  private:
    [[nodiscard]] std::optional<Error> objection_to(std::uint32_t uid,
                                                    const TicketRequest& request) const;

    const Config& config_;
    const Logger& log_;
    std::optional<SharedKey> key_;
};

}  // namespace stage
