#include "stager/cli/doctor/interface_checks.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

std::vector<InterfaceSeen> two_rails() {
    return {{.name = "eth0", .subnet = 1},
            {.name = "hsn0", .subnet = 2},
            {.name = "hsn1", .subnet = 3}};
}

Finding last(const std::vector<RailNames>& entries, const std::vector<InterfaceSeen>& seen) {
    return judge_interfaces(entries, seen).back();
}

TEST_CASE("each interface is judged once, rails together as well") {
    const auto findings = judge_interfaces({{"hsn0", "hsn1"}, {"hsn0"}}, two_rails());
    REQUIRE(findings.size() == 3);
    for (const Finding& finding : findings) {
        CHECK(finding.health == Health::fine);
    }
    CHECK(findings[1].subject == "interface hsn1");
    CHECK(findings[2].sentence == "hsn0+hsn1 are used together");
    CHECK(judge_interfaces({{"eth0"}}, two_rails()).size() == 1);
}

TEST_CASE("a rail without link is named, with its replacement") {
    auto seen = two_rails();
    seen[2].has_link = false;
    const auto findings = judge_interfaces({{"hsn0", "hsn1"}, {"hsn0"}}, seen);
    REQUIRE(findings.size() == 3);
    CHECK(findings[1].health == Health::wrong);
    CHECK_THAT(findings[1].sentence, Catch::Contains("no link"));
    CHECK(findings[2].health == Health::wrong);
    CHECK_THAT(findings[2].sentence, Catch::StartsWith("only hsn0 is used"));
    CHECK(last({{"hsn1"}}, seen).health == Health::fine);
}

TEST_CASE("a wrong interface is wrong whether it is a rail or not") {
    auto seen = two_rails();
    seen[0].is_up = false;
    seen[1].has_address = false;
    seen[2].can_multicast = false;
    for (const char* const name : {"eth0", "hsn0", "hsn1", "ib0"}) {
        CAPTURE(name);
        CHECK(last({{name}}, seen).health == Health::wrong);
        CHECK(judge_interfaces({{name, "other"}}, seen).front().health == Health::wrong);
    }
}

TEST_CASE("an interface for broadcast need not multicast") {
    auto seen = two_rails();
    seen[0].can_multicast = false;
    seen[1].can_broadcast = false;
    CHECK(judge_interfaces({{"eth0"}}, seen, true).front().sentence ==
          "is up and can broadcast");
    CHECK_THAT(judge_interfaces({{"hsn0"}}, seen, true).front().sentence,
               Catch::StartsWith("can't broadcast"));
}

TEST_CASE("what all hosts of a LAN receive needs a rate that the site has set") {
    Config config = default_config();
    CHECK(judge_broadcast(config).health == Health::doubtful);
    CHECK_THAT(judge_broadcast(config).sentence, Catch::Contains("RateMax"));
    config.rate_max = 12'500'000;
    CHECK(judge_broadcast(config).health == Health::fine);
}

TEST_CASE("rails in one subnet need a loose rp_filter") {
    auto seen = two_rails();
    seen[1].filters_paths = seen[2].filters_paths = true;
    CHECK(last({{"hsn0", "hsn1"}}, seen).health == Health::fine);
    seen[2].subnet = seen[1].subnet;
    CHECK(last({{"hsn0", "hsn1"}}, seen).health == Health::wrong);
    CHECK_THAT(last({{"hsn0", "hsn1"}}, seen).sentence, Catch::Contains("rp_filter"));
    seen[1].filters_paths = seen[2].filters_paths = false;
    CHECK(last({{"hsn0", "hsn1"}}, seen).health == Health::fine);
}

}  // namespace
}  // namespace stage
