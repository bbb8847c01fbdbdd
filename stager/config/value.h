// Converts values of stagecast.conf from and to text, for each kind of key.
//
// Flags and times are in transport/base/written_value.h, which the plugin uses, too. A reader
// returns nothing unless it accepts the whole text; limits are checked by the table. read_*
// accepts the output of write_* and returns the same value.
#pragma once

#include "stager/config/config.h"
#include "transport/base/units.h"
#include "transport/base/written_value.h"  // IWYU pragma: export

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

[[nodiscard]] std::optional<std::uint64_t> read_count(std::string_view text);
/// Bytes per second: "200mbit", "1gbit", "25MB", "25MB/s", "1.5GiB/s". A bare number is
/// refused, as it has no unit.
[[nodiscard]] std::optional<std::uint64_t> read_rate(std::string_view text);
/// An absolute path without "." or ".." or "//"; a trailing slash is dropped.
[[nodiscard]] std::optional<std::string> read_path(std::string_view text);
/// Letters, digits, '-', '_', '.', ':': node and interface names, at most 255 of them.
[[nodiscard]] std::optional<std::string> read_name(std::string_view text);
/// "hsn0+hsn1,eth0": at most kPolicyRailsMax different names joined by +. An empty text is an
/// empty list.
[[nodiscard]] std::optional<std::vector<RailNames>> read_interfaces(std::string_view text);
/// "239.1.2.3-239.1.2.18,239.9.9.9"; only multicast that routers may carry (from 224.0.1.0 on).
/// Also takes "broadcast".
[[nodiscard]] std::optional<std::vector<ConfigRange<GroupAddress>>> read_groups(
    std::string_view text);
/// "6830-6893" or "6830", from 1 to 65535.
[[nodiscard]] std::optional<ConfigRange<std::uint16_t>> read_ports(std::string_view text);
/// Splits at `by` and trims blanks; an empty text is an empty list, an empty item is kept.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text, char by = ',');

[[nodiscard]] std::string write_size(std::uint64_t bytes);
[[nodiscard]] std::string write_rate(std::uint64_t bytes_per_second);
[[nodiscard]] std::string write_seconds(Duration time);
[[nodiscard]] std::string write_groups(const std::vector<ConfigRange<GroupAddress>>& groups);
[[nodiscard]] std::string write_ports(const ConfigRange<std::uint16_t>& ports);
[[nodiscard]] std::string write_rails(const RailNames& rails);
[[nodiscard]] std::string write_interfaces(const std::vector<RailNames>& entries);

}  // namespace stage
