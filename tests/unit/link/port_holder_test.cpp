// Tests that what holds the daemon's port is found in the kernel's tables, and named.
#include "stager/link/port_holder.h"

#include "stager/link/listener.h"
#include "tests/unit/link/link_world.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <sstream>

using namespace stage;

namespace {

constexpr const char* kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n";
constexpr const char* kOfUser =
    " 00000000:00000000 00:00000000 00000000  1001        0 7 1 0\n";

std::optional<PortHolder> holder(const std::string& line, std::uint16_t port = 6829) {
    std::istringstream table{kHead + line + kOfUser};
    return find_holder(table, port);
}

}  // namespace

TEST_CASE("a listener is found in the kernel's table") {
    const auto ipv4 = holder("   0: 00000000:1AAD 00000000:0000 0A");
    REQUIRE(ipv4);
    CHECK(ipv4->listens);
    CHECK(ipv4->uid == 1001);
    CHECK_THAT(holder_text(ipv4, 6829),
               Catch::StartsWith("a program of uid 1001 listens there"));
    CHECK(
        holder("   7: 00000000000000000000000000000000:1AAD "
               "00000000000000000000000000000000:0000 0A"));
    CHECK(holder("   0: 00000000:0016 00000000:0000 0A", 22));
    CHECK_FALSE(holder("   0: 00000000:1AAD 00000000:0000 0A", 6830));
    CHECK_FALSE(holder("   0: 0100007F:D2F0 0100007F:1AAD 01"));
    CHECK_FALSE(holder(""));
    CHECK_FALSE(holder("   0: x:1AAD y 0A"));
}

TEST_CASE("a connection that has the port is named, with its peer and its user") {
    const auto found = holder("   0: 02014D0A:1AAD 03014D0A:0016 01");
    REQUIRE(found);
    CHECK_FALSE(found->listens);
    CHECK_THAT(
        holder_text(found, 6829),
        Catch::StartsWith("a connection of uid 1001 to 10.77.1.3:22 has it as its own") &&
            Catch::Contains("add 6829 to net.ipv4.ip_local_reserved_ports"));
    // One that has ended keeps no port, and a listener is what matters beside others.
    CHECK_FALSE(holder("   0: 02014D0A:1AAD 03014D0A:0016 06"));
    const auto both = holder(std::string{"   0: 02014D0A:1AAD 03014D0A:0016 01"} + kOfUser +
                             "   1: 00000000:1AAD 00000000:0000 0A");
    REQUIRE(both);
    CHECK(both->listens);
}

TEST_CASE("a daemon whose port another socket has says which one") {
    const UniqueFd taken{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in own{};
    own.sin_family = AF_INET;
    socklen_t length = sizeof own;
    auto* const name = reinterpret_cast<sockaddr*>(&own);
    REQUIRE(::bind(taken.get(), name, length) == 0);
    REQUIRE(::getsockname(taken.get(), name, &length) == 0);
    const std::uint16_t port = ntohs(own.sin_port);
    LinkPolicy policy;
    FalseMunge munge;
    const Logger log{[](LogLevel, std::string_view) {}, LogLevel::error};
    const std::string head =
        "listening on TCP port " + std::to_string(port) + ": Address already in use; ";
    const auto bound = Listener::open(port, policy, munge, log);
    REQUIRE_FALSE(bound);
    CHECK_THAT(bound.error().sentence(),
               Catch::StartsWith(head + "a program has bound it and neither listens nor"));
    REQUIRE(::listen(taken.get(), 1) == 0);
    const auto listening = Listener::open(port, policy, munge, log);
    REQUIRE_FALSE(listening);
    CHECK_THAT(listening.error().sentence(), Catch::StartsWith(head + "a program of uid "));
}
