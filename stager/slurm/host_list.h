// Expands Slurm's compressed node lists, such as "n[0-3,7],login1".
//
// SLURM_NODELIST has this form. The order of the names is the order of ranks on every node of
// the group, so the list is expanded here, the same everywhere and without libslurm, whose
// calls may block. It comes from slurmd through the plugin; its length is limited all the same.
#pragma once

#include "transport/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The number of ranks.
inline constexpr std::size_t kMaxNodes = 65535;
/// Characters built for one list, the parts of names included: 65,535 names of 40 bytes fit.
inline constexpr std::size_t kMaxListCharacters = 8U << 20U;

/// The names in order, each once. Zero padding is kept ("n[08-11]"); several brackets in one
/// name, at most four, multiply ("r[0-1]n[0-3]"). Fails (Blame::internal) on anything that is
/// not a node list, on an empty one, on a name beyond kMaxNameBytes, beyond kMaxNodes
/// (duplicates counted) and beyond kMaxListCharacters, before it builds any of them.
[[nodiscard]] Result<std::vector<std::string>> expand_host_list(std::string_view list);

/// The position of `name`, or nothing.
[[nodiscard]] std::optional<std::size_t> position_of(const std::vector<std::string>& names,
                                                     std::string_view name);

}  // namespace stage
