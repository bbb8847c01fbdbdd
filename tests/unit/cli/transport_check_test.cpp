#include "stager/cli/transport_check.h"

#include "stager/cli/doctor/doctor.h"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

using namespace stage;
using nlohmann::json;

namespace {

json report_of(unsigned done, unsigned nodes) {
    return {{"phase", "over"},
            {"nodes", nodes},
            {"done", done},
            {"why", ""},
            {"failed", json::array()}};
}

}  // namespace

TEST_CASE("where all nodes hear the group nothing is doubtful") {
    json said = report_of(4, 4);
    said["transport"] = "udp multicast";
    said["transport_why"] = "every node hears the group (239.1.2.3)";
    said["transport_why_not"] = "tcp unicast: each byte would cross every link of the chain";
    said["unheard_group"] = json::array();
    said["packet_payload"] = 1408;
    CHECK(report(judge_transport(said)) ==
          "ok     nodes: 4 of 4 nodes took part\n"
          "ok     transport: udp multicast: every node hears the group (239.1.2.3); packets "
          "carry 1408 bytes\n"
          "ok     tcp unicast: is not used: each byte would cross every link of the chain\n");
}

TEST_CASE("nodes that do not hear the group are named, with what to look at") {
    json said = report_of(3, 3);
    said["transport"] = "tcp unicast";
    said["transport_why"] = "multicast does not reach n1, n2";
    said["transport_why_not"] = "udp multicast: multicast does not reach n1, n2";
    said["unheard_group"] = json::array({"n1", "n2"});
    said["packet_payload"] = 16384;
    const std::string text = report(judge_transport(said));
    CHECK_THAT(text, Catch::Contains("ok     transport: tcp unicast: multicast does not"));
    CHECK_THAT(text, Catch::Contains("warn   udp multicast: is not used: multicast does not"));
    CHECK_THAT(text, Catch::Contains("warn   group: not heard by n1, n2: a switch"));
}

TEST_CASE("what keeps a broadcast from nodes is no IGMP snooping") {
    json said = report_of(3, 3);
    said["transport"] = "tcp unicast";
    said["transport_why"] = "broadcast does not reach n2";
    said["transport_why_not"] = "udp broadcast: broadcast does not reach n2";
    said["unheard_group"] = json::array({"n2"});
    const std::string text = report(judge_transport(said));
    CHECK_THAT(text, Catch::Contains("warn   udp broadcast: is not used: broadcast does not"));
    CHECK_THAT(text, Catch::Contains("warn   group: not heard by n2: they are in another LAN"));
    CHECK_THAT(text, !Catch::Contains("IGMP"));
}

TEST_CASE("a node that took no part is wrong, and its name is printable") {
    json said = report_of(0, 2);
    said["why"] = "the source is gone";
    said["failed"] = json::array({{{"node", "n9\n"}, {"why", "Slurm knows no such node"}}});
    const auto findings = judge_transport(said);
    REQUIRE(findings.size() == 2);
    CHECK(report(findings) ==
          "WRONG  node n9\\n: Slurm knows no such node\n"
          "WRONG  push: the source is gone\n");
}

TEST_CASE("one node alone uses no transport") {
    json said = report_of(1, 1);
    said["transport"] = "none";
    said["transport_why"] = "there is one node: it copies";
    CHECK(report(judge_transport(said)) ==
          "ok     nodes: 1 of 1 node took part\n"
          "ok     transport: none: there is one node: it copies\n");
}
