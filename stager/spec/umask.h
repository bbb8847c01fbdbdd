// Reads the umask of this process, and parses written ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stage {

/// The default of most users, and of a submission without a umask.
inline constexpr std::uint16_t kUsualUmask = 022;

/// Reads it from /proc, without changing it temporarily for all threads. Returns nothing where
/// the kernel does not provide it.
[[nodiscard]] std::optional<std::uint16_t> process_umask();

/// Parses "077", "0077", as umask(1) and Slurm write it; returns nothing for other texts.
[[nodiscard]] std::optional<std::uint16_t> parse_umask(std::string_view text);

}  // namespace stage
