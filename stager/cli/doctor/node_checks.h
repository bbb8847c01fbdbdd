// Is this node fit to stage, as far as it can tell alone?
#pragma once

#include "stager/cli/doctor/finding.h"
#include "stager/config/config.h"

#include <cstdint>
#include <istream>

namespace stage {

/// The directory that jobs' files go to: never made; a file can be made in it.
[[nodiscard]] Finding check_stage_root(const Config& config);
/// munged seals and opens again.
[[nodiscard]] Finding check_munge(const Config& config);
/// A PMIx host can be kept from this node's other users: namespaces can be made by a process
/// with no more capabilities than stagecastd's unit has.
[[nodiscard]] Finding check_pmix();
/// stagecastd answers on its socket, and is of our release.
[[nodiscard]] Finding check_daemon(const Config& config);
/// Somebody listens at its TCP port.
[[nodiscard]] Finding check_port(const Config& config);
/// Whether a table as /proc/net/tcp has a socket that listens at that port.
[[nodiscard]] bool has_listener(std::istream& table, std::uint16_t port);

}  // namespace stage
