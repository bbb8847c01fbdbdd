#include "transport/base/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>

namespace stage {

bool IpAddress::is_loopback() const {
    const bool is_one = octets.back() == std::byte{1} &&
                        std::all_of(octets.begin(), octets.end() - 1, [](std::byte each) {
                            return each == std::byte{0};
                        });
    return family == IpFamily::v4 ? octets[0] == std::byte{127} : is_one;
}

std::optional<IpAddress> parse_ip(const std::string& text) {
    IpAddress address;
    if (inet_pton(AF_INET, text.c_str(), address.octets.data()) == 1) {
        return address;
    }
    address.family = IpFamily::v6;
    if (inet_pton(AF_INET6, text.c_str(), address.octets.data()) == 1) {
        return address;
    }
    return std::nullopt;
}

std::optional<IpAddress> ip_from_bytes(Bytes bytes) {
    if (bytes.size() != 4 && bytes.size() != 16) {
        return std::nullopt;
    }
    IpAddress address;
    address.family = bytes.size() == 4 ? IpFamily::v4 : IpFamily::v6;
    std::copy(bytes.begin(), bytes.end(), address.octets.begin());
    return address;
}

IpAddress ip_v4(std::uint32_t number) {
    IpAddress address;
    for (std::size_t i = 0; i < address.length(); ++i) {
        address.octets[i] = static_cast<std::byte>((number >> (24U - 8U * i)) & 0xffU);
    }
    return address;
}

std::string to_string(const IpAddress& address) {
    const int family = address.family == IpFamily::v4 ? AF_INET : AF_INET6;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (inet_ntop(family, address.octets.data(), text.data(), text.size()) == nullptr) {
        return "?";
    }
    return text.data();
}

}  // namespace stage
