// What does a launcher hand to a member that has neither a file of hosts nor PMIx?
//
// The group's key, a line of 64 hexadecimal digits, then the members' addresses as in a file
// of hosts. It comes by standard input, or as a munge credential on the command line where the
// launcher carries no input: a key stands neither in a file nor where ps(1) shows it.
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

/// Longer ones are refused.
inline constexpr std::size_t kMaxGroupOrderBytes = 1U << 20U;

/// `from`: "-" reads `input` to its end, unless the work is ended before; anything else is a
/// credential of the own uid's.
[[nodiscard]] Result<GroupOrder> take_group_order(const std::string& from,
                                                  int input,
                                                  Interrupts& interrupts);

/// Fails (Blame::user) on anything else.
[[nodiscard]] Result<GroupOrder> parse_group_order(std::string_view text);

/// The member that has an address of this host.
[[nodiscard]] Result<Rank> rank_of_this_host(const HostList& hosts);

}  // namespace stage
