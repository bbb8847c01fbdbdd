#include "stager/config/transport_choice.h"

#include <catch2/catch.hpp>

using namespace stage;
using Way = TransportChoice::Way;

namespace {

struct Case {
    const char* about;
    TransportFacts facts;
    Way way;
    UnreachedPolicy if_unreached;
    bool fails;
    const char* why;
    const char* why_not;
};

const std::vector<std::string> kTwo{"n3", "n7"};

const Case kCases[] = {
    {"auto, before the members meet",
     {},
     Way::multicast,
     UnreachedPolicy::relay,
     false,
     "every node hears",
     "every link"},
    {"auto without an interface",
     {.has_interface = false},
     Way::relay,
     UnreachedPolicy::fetch,
     false,
     "no Interface=",
     "no Interface="},
    {"auto, and two do not hear the group",
     {.unreached = kTwo},
     Way::relay,
     UnreachedPolicy::fetch,
     false,
     "does not reach n3, n7",
     "does not reach n3, n7"},
    {"auto, and one has no TCP port",
     {.without_port = {"n5"}},
     Way::multicast,
     UnreachedPolicy::fetch,
     false,
     "every node hears",
     "n5 can't take part"},
    {"auto, two do not hear the group, and one has no TCP port",
     {.without_port = {"n5"}, .unreached = kTwo},
     Way::multicast,
     UnreachedPolicy::fetch,
     false,
     "n3, n7 fetch",
     "n5 can't take part"},
    {"multicast is forced",
     {.configured = Transport::udp, .without_port = kTwo},
     Way::multicast,
     UnreachedPolicy::fail,
     false,
     "Transport=udp",
     "Transport=udp"},
    {"multicast is forced, and two do not hear the group",
     {.configured = Transport::udp, .without_port = kTwo, .unreached = kTwo},
     Way::multicast,
     UnreachedPolicy::fail,
     true,
     "Transport=udp",
     "Transport=udp"},
    {"auto, and two do not hear what is broadcast",
     {.broadcasts = true, .unreached = kTwo},
     Way::relay,
     UnreachedPolicy::fetch,
     false,
     "broadcast does not reach n3, n7",
     "broadcast does not reach n3, n7"},
    {"broadcast is forced",
     {.configured = Transport::udp, .broadcasts = true},
     Way::multicast,
     UnreachedPolicy::fail,
     false,
     "Transport=udp",
     "allows broadcast only"},
    {"the relay is forced",
     {.configured = Transport::tcp},
     Way::relay,
     UnreachedPolicy::fetch,
     false,
     "Transport=tcp",
     "Transport=tcp"},
    {"the relay is forced without an interface",
     {.configured = Transport::tcp, .has_interface = false},
     Way::relay,
     UnreachedPolicy::fetch,
     false,
     "Transport=tcp",
     "Transport=tcp"},
};

}  // namespace

TEST_CASE("the transport follows from what is known") {
    for (const Case& each : kCases) {
        CAPTURE(each.about);
        const TransportChoice choice = choose_transport(each.facts);
        CHECK(choice.way == each.way);
        CHECK(choice.if_unreached == each.if_unreached);
        CHECK(choice.failure.has_value() == each.fails);
        CHECK_THAT(choice.why, Catch::Contains(each.why));
        CHECK_THAT(choice.why_not, Catch::Contains(each.why_not));
    }
}

TEST_CASE("multicast is called by its fabric, an unknown name is udp") {
    CHECK(to_string(Way::multicast, false) == "udp multicast");
    CHECK(to_string(Way::multicast, false, "verbs") == "verbs multicast");
    CHECK(to_string(Way::multicast, false, "any user's word") == "udp multicast");
    CHECK(to_string(Way::multicast, true, "udp") == "udp broadcast");
    CHECK(to_string(Way::relay, false, "verbs") == "tcp unicast");
}

TEST_CASE("with verbs a broadcast goes by the relay where auto's would") {
    const auto choice = choose_transport({.configured = Transport::verbs, .unreached = {"n3"}});
    CHECK_FALSE(choice.failure);
    CHECK(choice.way == TransportChoice::Way::relay);
    CHECK(choose_transport({.configured = Transport::verbs}).if_unreached ==
          UnreachedPolicy::relay);
}

TEST_CASE("forced multicast names the nodes that do not hear the group, at most a few") {
    TransportFacts facts{.configured = Transport::udp, .unreached = kTwo};
    const auto failure = choose_transport(facts).failure;
    REQUIRE(failure);
    CHECK(failure->blame() == Blame::node);
    CHECK_THAT(failure->sentence(),
               Catch::Contains("does not reach n3, n7,") && Catch::Contains("Transport=auto"));
    facts.broadcasts = true;
    CHECK_THAT(choose_transport(facts).failure->sentence(),
               Catch::StartsWith("broadcast does not reach n3, n7,") &&
                   Catch::Contains("another LAN"));
    facts.unreached.assign(1000, "node-with-a-rather-long-name");
    CHECK_THAT(choose_transport(facts).failure->sentence(), Catch::Contains("and 968 more"));
}
