// Tests the engine's command line.
#include "stager/worker/engine/options.h"

#include "stager/messages/policy_fields.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using namespace std::chrono_literals;

std::string complaint(const std::vector<std::string>& arguments) {
    const auto options = parse_engine_options(arguments, "/here");
    return options ? "ok" : options.error().sentence();
}

}  // namespace

TEST_CASE("--look inspects a source or a destination") {
    const auto at = [](const std::vector<std::string>& words) {
        return parse_engine_options(words, "/here");
    };
    const auto source = at({"--look=content", "--source=a"});
    REQUIRE(source);
    CHECK(source->look == EngineOptions::Look::content);
    CHECK(at({"--look=room", "--dest=/x", "--manifest=00"})->manifest == "00");
    CHECK_FALSE(at({"--look=room", "--dest=/x"}));
    CHECK_FALSE(at({"--look=room", "--source=/x", "--manifest=00"}));
    CHECK_FALSE(at({"--look=all", "--source=/x"}));
}

TEST_CASE("a launcher passes the number of members, its host and the time limit to meet") {
    const auto options = parse_engine_options({"--members=3",
                                               "--towards=10.0.0.7",
                                               "--dest=/x",
                                               "--durable=yes",
                                               "--timeout=60",
                                               "--connect-timeout=9"},
                                              "/");
    REQUIRE(options);
    CHECK(options->members == 3);
    CHECK(options->towards == parse_ip("10.0.0.7"));
    CHECK(options->is_durable);
    CHECK(options->connect_timeout == 9s);
    const auto other = parse_engine_options({"--members=3", "--dest=/x", "--timeout=60"}, "/");
    REQUIRE(other);
    CHECK_FALSE(other->towards);
    CHECK(other->connect_timeout == 60s);
    CHECK_THAT(complaint({"--members=2", "--dest=/x", "--durable=perhaps"}),
               Contains("--durable=perhaps"));
}

TEST_CASE("a full command line is parsed") {
    const auto options = parse_engine_options({"--members=2",
                                               "--dest=out/",
                                               "--interface=eth0+eth1,ib0",
                                               "--rate-max=400mbit",
                                               "--rate-remembered=1gbit",
                                               "--protection=auth",
                                               "--ttl=7",
                                               "--broadcast=yes",
                                               "--dscp=0",
                                               "--timeout=1.5",
                                               "--transport=udp"},
                                              "/here");
    REQUIRE(options);
    CHECK(options->destination == "/here/out/");
    CHECK(options->rate_max == 400'000'000);
    CHECK(options->rate_remembered == 1'000'000'000);
    CHECK(options->interfaces == std::vector<RailNames>{{"eth0", "eth1"}, {"ib0"}});
    CHECK(options->configured_rate == 0);
    CHECK(options->policies == Policies{});
    CHECK(options->protection == Protection::auth);
    CHECK(options->timeout == 1500ms);
    CHECK(options->ttl == 7);
    CHECK(options->broadcasts);
    CHECK(options->dscp == 0);
}

TEST_CASE("each policy of the broadcast is an option") {
    const auto options = parse_engine_options({"--members=2",
                                               "--source=s",
                                               "--rate-control=acker",
                                               "--repair-peers=ring",
                                               "--readiness=none",
                                               "--flows=16"},
                                              "/here");
    REQUIRE(options);
    CHECK(options->policies == Policies{.rate = RatePolicy::acker,
                                        .peers = PeerPolicy::ring,
                                        .readiness = ReadinessPolicy::none,
                                        .flows = 16});
    CHECK(decode_policies(encode(options->policies)) == options->policies);
    CHECK(decode_policies(encode(Policies{})) == Policies{});
    for (unsigned byte = 0; byte < 128; ++byte) {
        CHECK(encode(decode_policies(static_cast<std::uint8_t>(byte))) == byte);
    }
    for (const char* wrong :
         {"--rate-control=x", "--repair-peers=x", "--readiness=x", "--flows=0", "--flows=17"}) {
        CHECK_THAT(complaint({"--members=2", "--source=s", wrong}), Contains(wrong));
    }
}

TEST_CASE("how a relay's members are arranged can be asked for") {
    const auto relay = [](const std::string& shape) {
        return parse_engine_options(
            {"--members=2", "--source=s", "--transport=tcp", "--relay=" + shape}, "/here");
    };
    CHECK(relay("auto")->relay == RelayShape::automatic);
    CHECK(relay("chain")->relay == RelayShape::chain);
    CHECK(relay("trees")->relay == RelayShape::two_trees);
    CHECK_FALSE(relay("tree"));
}

TEST_CASE("an invalid command line is refused with the reason") {
    CHECK_THAT(complaint({}), Contains("neither --source= nor --dest="));
    CHECK_THAT(complaint({"--dest=x"}), Contains("--members= is needed"));
    for (const char* wrong :
         {"--members=0", "--members=x", "--members=70000", "--towards=n1"}) {
        CHECK_THAT(complaint({"--dest=x", wrong}), Contains(wrong));
    }
    CHECK_THAT(complaint({"--source=x", "--rate-max=fast"}), Contains("--rate-max=fast"));
    CHECK_THAT(complaint({"--source=x", "--rate-remembered=0"}),
               Contains("--rate-remembered=0"));
    CHECK_THAT(complaint({"--source=x", "--protection=some"}), Contains("--protection=some"));
    CHECK_THAT(complaint({"--source=x", "--timeout=0"}), Contains("--timeout=0"));
    CHECK_THAT(complaint({"--source=x", "--interface=a++b"}), Contains("--interface=a++b"));
    CHECK_THAT(complaint({"--source=x", "--transport=pigeon"}), Contains("--transport=pigeon"));
    for (const char* wrong :
         {"--ttl=0", "--ttl=256", "--ttl=x", "--dscp=64", "--dscp=-1", "--broadcast=some"}) {
        CHECK_THAT(complaint({"--source=x", wrong}), Contains(wrong));
    }
    CHECK_THAT(complaint({"--sauce=x"}), Contains("sauce"));
    CHECK_THAT(complaint({"x"}), Contains("--help"));
    CHECK(complaint({"--help"}) == "ok");
    CHECK_THAT(engine_help(), Contains("--rate-max") && Contains("Exit code 0"));
}

}  // namespace stage
