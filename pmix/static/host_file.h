// Reads the members' addresses from a host file.
//
// The file has one address or name per line; the rank is the line's index from 0. Blank lines
// and comments (#) are skipped. Every member must be given the same file; its digest travels
// with the cards, so that a difference is detected.
#pragma once

#include "transport/base/ip_address.h"
#include "transport/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// Addresses by rank; at least one, at most kMaxCards.
using HostList = std::vector<IpAddress>;

/// Names are not resolved. `file` is only used in errors: "hosts.txt, line 3: ...".
[[nodiscard]] Result<std::vector<std::string>> parse_host_file(std::string_view text,
                                                               const std::string& file);

/// Resolves a name or a numeric address. Blocks as long as the resolver does. Fails
/// (Blame::user) with the resolver's message.
[[nodiscard]] Result<IpAddress> resolve_host(const std::string& name);
/// Resolves all names, by rank; `file` is only used in errors.
[[nodiscard]] Result<HostList> resolve_hosts(const std::vector<std::string>& names,
                                             const std::string& file);

/// Reads and parses `path` and resolves its names (which blocks as long as the resolver does).
/// Fails (Blame::user) naming the line.
[[nodiscard]] Result<HostList> read_host_file(const std::string& path);

}  // namespace stage
