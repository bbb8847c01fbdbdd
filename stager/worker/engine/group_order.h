// Reads what a launcher passes to a member that has neither a host file nor PMIx.
//
// It is the group's key, a line of 64 hexadecimal digits, followed by the members' addresses as
// in a host file. It comes by standard input, or as a munge credential on the command line if
// the launcher forwards no input: the key appears neither in a file nor in the output of ps(1).
#pragma once

#include "pmix/static/host_file.h"
#include "stager/worker/broadcast/interrupts.h"
#include "transport/seal/keys.h"

#include <string>
#include <string_view>

namespace stage {

struct GroupOrder {
    seal::GroupKey key{};
    HostList hosts;
};

/// A longer input is refused.
inline constexpr std::size_t kMaxGroupOrderBytes = 1U << 20U;

/// `from`: "-" reads `input` to its end, unless `interrupts` ends the work before; anything
/// else is a credential of the process's own uid.
[[nodiscard]] Result<GroupOrder> take_group_order(const std::string& from,
                                                  int input,
                                                  Interrupts& interrupts);

/// Fails (Blame::user) unless `text` has that format.
[[nodiscard]] Result<GroupOrder> parse_group_order(std::string_view text);

/// The rank of the member that has an address of this host.
[[nodiscard]] Result<Rank> rank_of_this_host(const HostList& hosts);

}  // namespace stage
