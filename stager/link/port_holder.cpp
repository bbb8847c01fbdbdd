#include "stager/link/port_holder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace stage {
namespace {

constexpr std::string_view kListening = "0A";
/// States of sockets that a program has: listening, beginning, open, or half closed.
constexpr std::array<std::string_view, 4> kInUse{kListening, "01", "02", "08"};

std::optional<std::uint32_t> hex(std::string_view text) {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number, 16);
    return problem == std::errc{} && rest == end ? std::optional{number} : std::nullopt;
}

/// "0100007F:1AAD": words of 32 bits in the machine's order of bytes, and the port.
std::optional<Address> address_in(std::string_view text) {
    constexpr std::size_t kDigits = 8;
    const std::size_t colon = text.find(':');
    const auto port =
        colon == std::string_view::npos ? std::nullopt : hex(text.substr(colon + 1));
    std::vector<std::byte> octets;
    for (std::size_t at = 0; port && at + kDigits <= colon; at += kDigits) {
        const auto word = hex(text.substr(at, kDigits));
        if (!word) {
            return std::nullopt;
        }
        const auto bytes = std::bit_cast<std::array<std::byte, 4>>(*word);
        octets.insert(octets.end(), bytes.begin(), bytes.end());
    }
    const auto ip = ip_from_bytes(octets);
    return ip && port
               ? std::optional{Address{.ip = *ip, .port = static_cast<std::uint16_t>(*port)}}
               : std::nullopt;
}

/// The socket of one line; none if it does not keep others from listening at that port.
std::optional<PortHolder> holder_in(const std::string& line, std::uint16_t port) {
    std::istringstream words{line};
    std::array<std::string, 7> unused;
    std::string local;
    std::string remote;
    std::string state;
    std::uint32_t uid = 0;
    words >> unused[0] >> local >> remote >> state >> unused[1] >> unused[2] >> unused[3] >>
        uid;
    const auto own = address_in(local);
    const auto peer = address_in(remote);
    if (!own || !peer || own->port != port ||
        std::ranges::find(kInUse, state) == kInUse.end()) {
        return std::nullopt;
    }
    return PortHolder{.listens = state == kListening, .peer = *peer, .uid = uid};
}

}  // namespace

std::optional<PortHolder> find_holder(std::istream& table, std::uint16_t port) {
    std::optional<PortHolder> found;
    for (std::string line; std::getline(table, line);) {
        const auto holder = holder_in(line, port);
        if (holder && (!found || holder->listens)) {
            found = holder;
        }
        if (found && found->listens) {
            break;
        }
    }
    return found;
}

std::optional<PortHolder> find_holder(std::uint16_t port) {
    std::optional<PortHolder> found;
    for (const char* const path : {"/proc/self/net/tcp6", "/proc/self/net/tcp"}) {
        std::ifstream table{path};
        const auto holder = find_holder(table, port);
        if (holder && (!found || holder->listens)) {
            found = holder;
        }
    }
    return found;
}

std::string holder_text(const std::optional<PortHolder>& holder, std::uint16_t port) {
    const std::string number = std::to_string(port);
    if (!holder) {
        return "a program has bound it and neither listens nor connects; end that program, or "
               "set another Port on all nodes";
    }
    const std::string uid = std::to_string(holder->uid);
    if (holder->listens) {
        return "a program of uid " + uid + " listens there ('ss -ltnp sport = :" + number +
               "' says which); end it, or set another Port on all nodes";
    }
    return "a connection of uid " + uid + " to " + holder->peer.to_string() +
           " has it as its own port ('ss -tnp sport = :" + number +
           "' says of which program); end it, and add " + number +
           " to net.ipv4.ip_local_reserved_ports";
}

}  // namespace stage
