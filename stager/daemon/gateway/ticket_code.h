// Makes and checks the code of a ticket (stager/spec/ticket.h).
//
// The code is HMAC-SHA256 (RFC 2104) with the bytes of TicketKey=, which no other cluster has,
// over a label and the ticket's body.
#pragma once

#include "stager/link/shared_key.h"
#include "stager/spec/ticket.h"

#include <string>
#include <string_view>

namespace stage {

/// The ticket as text. Fails (Blame::user) if its paths are too long together.
[[nodiscard]] Result<std::string> sealed_ticket(const SharedKey& key, const ReadTicket& ticket);

/// Fails (Blame::user) unless `text` was made with this key.
[[nodiscard]] Result<ReadTicket> opened_ticket(const SharedKey& key, std::string_view text);

}  // namespace stage
