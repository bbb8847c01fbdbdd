#include "stager/cli/doctor/rdma_checks.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

constexpr const char* kNone = "this node has no RDMA device";

TEST_CASE("a node without an RDMA device is worth a line only where verbs are asked for") {
    const RdmaSeen none{.why_not = kNone};
    CHECK(judge_rdma(none, Transport::automatic).empty());
    CHECK(judge_rdma(none, Transport::udp).empty());
    const auto findings = judge_rdma(none, Transport::verbs);
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().health == Health::doubtful);
    CHECK_THAT(findings.front().sentence, Catch::StartsWith(kNone));
}

TEST_CASE("a device that can't be used is doubtful, and says why") {
    const RdmaSeen seen{.has_device = true, .why_not = "rxe1 port 1 is not active (DOWN)"};
    const auto findings = judge_rdma(seen, Transport::verbs);
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().health == Health::doubtful);
    CHECK(findings.front().sentence == "rxe1 port 1 is not active (DOWN); stagings go by UDP");
    CHECK(judge_rdma(seen, Transport::tcp).empty());
}

TEST_CASE("users who may not open the devices are named with the remedy") {
    RdmaSeen seen{.has_device = true, .port = "rxe1 port 1, datagrams of 4096 bytes"};
    const auto fine = judge_rdma(seen, Transport::verbs);
    REQUIRE(fine.size() == 1);
    CHECK(fine.front().health == Health::fine);
    seen.users_may_open = false;
    const auto both = judge_rdma(seen, Transport::verbs);
    REQUIRE(both.size() == 2);
    CHECK(both.back().health == Health::doubtful);
    CHECK_THAT(both.back().sentence, Catch::Contains("0666"));
}

}  // namespace
}  // namespace stage
