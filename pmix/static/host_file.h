// Who are the members, when a file says so?
//
// One address (or name) a line, rank = line from 0. Blank lines and what follows a # are
// skipped. The same file must be given to every member; its digest travels with the cards, so
// that two that differ are noticed.
#pragma once

#include "transport/base/ip_address.h"
#include "transport/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// By rank; at least one, at most kMaxCards.
using HostList = std::vector<IpAddress>;

/// `file` is only named in errors: "hosts.txt, line 3: ...". Names are not resolved.
[[nodiscard]] Result<std::vector<std::string>> parse_host_file(std::string_view text,
                                                               const std::string& file);

/// The address that `name`, or a number, stands for. May block for as long as the resolver
/// does. Fails (Blame::user) with its words.
[[nodiscard]] Result<IpAddress> resolve_host(const std::string& name);
/// All of them, by rank; `file` is only named in errors.
[[nodiscard]] Result<HostList> resolve_hosts(const std::vector<std::string>& names,
                                             const std::string& file);

/// Reads and parses `path` and resolves names (which may block for as long as the resolver
/// does). Fails (Blame::user) naming the line.
[[nodiscard]] Result<HostList> read_host_file(const std::string& path);

}  // namespace stage
