// Tests in which fabrics, and in which order, the members of a broadcast meet.
#include "stager/worker/broadcast/network.h"

#include "stager/worker/broadcast/broadcast_member.h"
#include "tests/unit/pmix/cards.h"
#include "transport/fabrics/fabrics.h"
#include "transport/verbs/verbs_place.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

EndpointPlan plan_on_loopback() {
    return {.rails = {{.name = "lo", .address = *Address::parse("127.0.0.1", 0)}},
            .ports = {.lent = {}, .open_to_all = {{0, 0}}}};
}

struct Member {
    std::vector<Endpoint> endpoints;
    Card card;
};

Member member_in(std::uint16_t rank, const std::vector<const Fabric*>& fabrics) {
    Member made;
    for (const Fabric* fabric : fabrics) {
        auto endpoint = fabric->open(plan_on_loopback());
        REQUIRE(endpoint);
        made.endpoints.push_back(*std::move(endpoint));
    }
    auto card = make_card(Rank{rank}, "n" + std::to_string(rank), made.endpoints);
    REQUIRE(card);
    made.card = *std::move(card);
    return made;
}

Member member(std::uint16_t rank, Transport transport) {
    return member_in(rank, fabrics_for(transport));
}

JoinPlan plan() {
    return {
        .own = Rank{0},
        .source = Rank{0},
        .places = {},
        .group = [](std::size_t /*rails*/) { return *Address::parse("239.77.203.9", 41'996); },
        .data_ports = {}};
}

TEST_CASE("a broadcast begins in the source's first fabric, and goes on in the next") {
    Member source = member(0, Transport::automatic);
    const Member other = member(1, Transport::automatic);
    const CardTable cards{source.card, other.card};
    REQUIRE(check_cards(cards));
    auto network = Network::among(cards, std::move(source.endpoints), plan());
    REQUIRE(network);
    CHECK_FALSE(network->relays());
    const auto first = network->join(Multicast{}, 0);
    REQUIRE(first);
    CHECK(first->driver->name() == "udp");
    const auto second = network->join(Relay{}, 0);
    REQUIRE(second);
    CHECK(second->driver->name() == "tcp");
    CHECK_FALSE(second->carrier.has_multicast);
    CHECK_FALSE(network->join(Relay{}, 0));
}

TEST_CASE("where one member has no place in the next fabric there is none") {
    Member source = member(0, Transport::automatic);
    const Member other = member(1, Transport::udp);
    const CardTable cards{source.card, other.card};
    auto network = Network::among(cards, std::move(source.endpoints), plan());
    REQUIRE(network);
    CHECK(network->join(Multicast{}, 0));
    CHECK_FALSE(network->join(Relay{}, 0));
}

TEST_CASE("a member without a device has the group do without it, and is named") {
    CHECK(fabrics_for(Transport::automatic).front()->name() == "udp");
    Member source = member(0, Transport::verbs);
    Member other = member(1, Transport::verbs);
    REQUIRE(source.card.places.front().fabric == "verbs");
    other.card.places.front().bytes = verbs::encode_place(
        {.why_not = {}, .peer = {.queue_pair = 17, .qkey = 1}, .mtu = 4096});
    const CardTable cards{source.card, other.card};
    REQUIRE(check_cards(cards));
    auto network = Network::among(cards, std::move(source.endpoints), plan());
    REQUIRE(network);
    REQUIRE(network->objections().size() == 1);
    CHECK_THAT(network->objections().front(),
               Catch::StartsWith("verbs: rank 0 (n0, 127.0.0.1): "));
    const auto first = network->join(Multicast{}, 0);
    REQUIRE(first);
    CHECK(first->driver->name() == "udp");
}

TEST_CASE("a leg goes by TCP if one of its ends says WideArea=tcp, whichever that is") {
    const auto joined_in = [&](WideArea of_source, WideArea of_other) {
        Member source = member_in(0, fabrics_of_leg(of_source));
        const Member other = member_in(1, fabrics_of_leg(of_other));
        auto network =
            Network::among({source.card, other.card}, std::move(source.endpoints), plan());
        REQUIRE(network);
        CHECK(network->relays());
        CHECK(network->objections().size() == (of_source == of_other ? 0 : 1));
        CHECK(network->join(Relay{}, 0));
        return !network->join(Relay{}, 0);  // No fabric is left: it was by TCP.
    };
    CHECK_FALSE(joined_in(WideArea::automatic, WideArea::automatic));
    CHECK(joined_in(WideArea::automatic, WideArea::tcp));
    CHECK(joined_in(WideArea::tcp, WideArea::automatic));
    CHECK(joined_in(WideArea::tcp, WideArea::tcp));
}

TEST_CASE("members that begin in different fabrics say so") {
    Member source = member(0, Transport::automatic);
    const Member other = member(1, Transport::tcp);
    const auto network =
        Network::among({source.card, other.card}, std::move(source.endpoints), plan());
    REQUIRE_FALSE(network);
    CHECK_THAT(network.error().sentence(),
               Catch::Contains("(n1, 127.0.0.1) and the source do not agree on the transport"));
}

TEST_CASE("a relay from the first byte on has the tree of the source's card") {
    Member source = member(0, Transport::tcp);
    Member other = member(1, Transport::tcp);
    source.card.relay_degree = 255;
    const CardTable cards{source.card, other.card};
    auto network = Network::among(cards, std::move(source.endpoints), plan());
    REQUIRE(network);
    CHECK(network->relays());
    BroadcastConfig config;
    form_group(cards, *network, config);
    CHECK(config.scheme == Scheme{Relay::two_trees()});
    CHECK(config.next_relay == Relay::two_trees());
    CHECK(config.members.size() == 2);
}

TEST_CASE("a fabric that this release lacks is named") {
    std::vector<Endpoint> endpoints(1);
    endpoints.front().fabric = "carrier pigeon";
    const auto card = make_card(Rank{0}, "n0", endpoints);
    REQUIRE_FALSE(card);
    CHECK_THAT(card.error().sentence(), Catch::Contains("carrier pigeon"));
}

}  // namespace
}  // namespace stage
