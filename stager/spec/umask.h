// Tells which rights this process takes from the files that it makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stage {

/// What most users have, and a submission that says nothing.
inline constexpr std::uint16_t kUsualUmask = 022;

/// Without setting it for a moment, which other threads would see. Nothing where the kernel
/// does not tell.
[[nodiscard]] std::optional<std::uint16_t> process_umask();

/// "077", "0077", as umask(1) and Slurm write it; nothing for what is none.
[[nodiscard]] std::optional<std::uint16_t> parse_umask(std::string_view text);

}  // namespace stage
