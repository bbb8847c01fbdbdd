// The IP address of a host, of either family.
//
// Four or sixteen bytes and the family: what business cards, node tables and peers carry.
// Parsed from numbers only, because resolving a name may block.
#pragma once

#include "transport/base/units.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace stage {

/// Travels by number.
enum class IpFamily : std::uint8_t { v4 = 4, v6 = 6 };

struct IpAddress {
    IpFamily family = IpFamily::v4;
    std::array<std::byte, 16> octets{};  ///< Network order; beyond length() all zero.

    [[nodiscard]] std::size_t length() const { return family == IpFamily::v4 ? 4 : 16; }
    [[nodiscard]] Bytes bytes() const { return Bytes{octets}.first(length()); }
    /// 0.0.0.0 or ::, which names no host.
    [[nodiscard]] bool is_any() const { return octets == std::array<std::byte, 16>{}; }

    /// 127.x.y.z or ::1, where no other host finds this one.
    [[nodiscard]] bool is_loopback() const;

    friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// "10.1.2.3" or "fd00::7", no scope, nothing around it.
[[nodiscard]] std::optional<IpAddress> parse_ip(const std::string& text);
/// From 4 or 16 bytes; nothing for another number of them.
[[nodiscard]] std::optional<IpAddress> ip_from_bytes(Bytes bytes);
/// 10.1.2.3 from 0x0a010203.
[[nodiscard]] IpAddress ip_v4(std::uint32_t number);
[[nodiscard]] std::string to_string(const IpAddress& address);

}  // namespace stage
