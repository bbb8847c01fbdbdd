// Tests that members with different numbers of interfaces receive one group.
#include "stager/worker/broadcast/wiring.h"
#include "stager/worker/broadcast/work.h"
#include "tests/unit/pmix/cards.h"
#include "transport/udp/sockets.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <sstream>

namespace stage {
namespace {

std::string kernels_groups() {
    std::ostringstream text;
    text << std::ifstream{"/proc/net/igmp"}.rdbuf();
    return text.str();
}

/// Bound as a flow's, and no member of its group yet.
UniqueFd bound_to(const Address& group) {
    UniqueFd fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const int on = 1;
    REQUIRE(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    const SocketAddress place = group.to_socket();
    REQUIRE(::bind(fd.get(), place.get(), place.length) == 0);
    return fd;
}

}  // namespace

TEST_CASE("all use as many rails as the member with the fewest, each with a flow") {
    CardTable cards = cards_of(3);
    cards[0].rails = 4;
    cards[1].rails = 2;
    cards[2].rails = 3;
    cards[2].mtu = 1400;
    auto config = broadcast_among(cards, Rank{0}, Rank{0});
    REQUIRE(config);
    CHECK(config->rails == 2);
    CHECK(config->mtu == 1400);
    Policies policies;
    follow(policies, *config);
    CHECK(config->policies.flows == 2);
    policies.flows = 5;
    follow(policies, *config);
    CHECK(config->policies.flows == 5);
}

TEST_CASE("a card contains the smallest MTU and the number of interfaces") {
    const auto own = Address::parse("127.0.0.1", 0);
    REQUIRE(own);
    const auto socket = udp::open_peer_socket(*own, {41'000, 42'000}, {.interface = "lo"});
    REQUIRE(socket);
    const auto card = make_card(Rank{1}, "n1", socket->get(), {"lo", "lo"});
    REQUIRE(card);
    CHECK(card->rails == 2);
    CHECK(card->mtu == *udp::interface_mtu("lo"));
    CHECK_FALSE(make_card(Rank{1}, "n1", socket->get(), {"lo", "no-such-if"}));
}

TEST_CASE("flows of a rail that others lack are received on one that all have") {
    const auto group = Address::parse("239.77.203.8", 41'997);
    REQUIRE(group);
    const udp::GroupFlows flows{.first = *group, .flows = 2, .rails = 2};
    BroadcastSockets sockets;
    auto first = udp::open_group_socket(flows.address(Flow{0}), {.interface = "lo"});
    REQUIRE(first);
    sockets.flows.push_back(*std::move(first));
    sockets.flows.push_back(bound_to(flows.address(Flow{1})));
    sockets.interfaces = {"lo", "gone"};
    sockets.rails.resize(1);
    sockets.group_rails = 2;
    REQUIRE(use_rails(sockets, *group, 2));
    CHECK(sockets.interfaces.size() == 2);
    CHECK_FALSE(kernels_groups().find("09CB4DEF") != std::string::npos);
    REQUIRE(use_rails(sockets, *group, 1));
    CHECK(kernels_groups().find("09CB4DEF") != std::string::npos);
    CHECK(sockets.interfaces == std::vector<std::string>{"lo"});
    CHECK(sockets.rails.empty());
}

}  // namespace stage
