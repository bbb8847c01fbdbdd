// Which nodes does "n[0-3,7],login1" name, and in which order?
//
// Slurm's compressed node list, as it stands in SLURM_NODELIST. The order is the group's order
// of ranks on every node of it, so it is expanded here, the same everywhere and without
// libslurm, whose calls may block. It comes from slurmd through the plugin and is bounded all
// the same.
#pragma once

#include "transport/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// More nodes than a rank can count.
inline constexpr std::size_t kMaxNodes = 65535;
/// Of all that is built for one list, the parts of names included: 65,535 names of 40 bytes
/// fit.
inline constexpr std::size_t kMaxListCharacters = 8U << 20U;

/// The names in order, duplicates included once. Zero padding is kept ("n[08-11]"), several
/// brackets in one name, four at most, multiply ("r[0-1]n[0-3]"). Fails (Blame::internal) on
/// anything that is not a node list, on an empty one, on a name beyond kMaxNameBytes, beyond
/// kMaxNodes (duplicates counted) and beyond kMaxListCharacters, before it builds any of them.
[[nodiscard]] Result<std::vector<std::string>> expand_host_list(std::string_view list);

/// The position of `name`, or nothing.
[[nodiscard]] std::optional<std::size_t> position_of(const std::vector<std::string>& names,
                                                     std::string_view name);

}  // namespace stage
