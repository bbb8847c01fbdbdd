// Formats byte counts and numbers of things for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stage {

/// "512 bytes", "3.1 KB", "40.0 MB", "1.5 GB": units are powers of 1000.
[[nodiscard]] std::string amount_text(std::uint64_t bytes);
/// "512 bytes", "1.5 GiB": powers of 1024, for space on disks.
[[nodiscard]] std::string binary_amount_text(std::uint64_t bytes);

/// "3.1".
[[nodiscard]] std::string tenths_text(double number);

/// "3.1 MB/s, 22 s to go": `rate` in bytes per second, not 0, and `left` bytes.
[[nodiscard]] std::string rate_text(double rate, std::uint64_t left);

/// "1 node", "3 nodes".
[[nodiscard]] std::string count_text(std::uint64_t number, std::string_view what);

}  // namespace stage
