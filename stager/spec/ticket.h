// Describes a ticket: a user's right to have files read for jobs on another cluster.
//
// A user gets it where the files lie ("stagecast ticket"), and gives it to a job of the other
// cluster (--stage-ticket). Only the cluster that has issued it can check its code
// (stager/daemon/gateway/ticket_code.h). What it says can be read by all, so that a wrong one
// is found when the job is submitted. It is of use for the user with the named uid on the named
// cluster only, and so it is no secret between users.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

struct ReadTicket {
    std::uint32_t uid = 0;  ///< The user whose rights count, on the cluster that has the files.
    std::string cluster{};  ///< The cluster whose jobs may have the files,
    std::uint32_t for_uid = 0;  ///< if they are this user's there.
    std::uint64_t expires = 0;  ///< Seconds since the epoch.
    /// Files, and directories with all that is in them (is_plain_path()).
    std::vector<std::string> paths{};

    bool operator==(const ReadTicket&) const = default;
};
inline constexpr std::size_t kMaxTicketPaths = 256;
/// Bytes of a ticket as text: it leaves room in a job's list of specs.
inline constexpr std::size_t kMaxTicketText = 16U << 10U;
/// Bytes of the code (HMAC-SHA256) that ends a ticket.
inline constexpr std::size_t kTicketCodeBytes = 32;

/// True if `path` is one of the ticket's paths, or below one. Requires is_plain_path(path).
[[nodiscard]] bool covers(const ReadTicket& ticket, std::string_view path);

/// A ticket taken apart. `code` proves `body`, of which `ticket` is the content.
struct TicketText {
    ReadTicket ticket;
    std::vector<std::byte> body;
    std::vector<std::byte> code;
};

/// The bytes that the code proves.
[[nodiscard]] std::vector<std::byte> body_of(const ReadTicket& ticket);
/// The text of body and code: hexadecimal digits.
[[nodiscard]] std::string ticket_text(Bytes body, Bytes code);
/// Fails (Blame::user) on anything else. It says nothing of who has made the ticket.
[[nodiscard]] Result<TicketText> parse_ticket(std::string_view text);

}  // namespace stage
