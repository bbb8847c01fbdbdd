// Does the doctor tell a node that is reached from one that is not?
#include "stager/cli/doctor/network_checks.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("the doctor tells which of the data ports stagecastd lacks") {
    Config config = default_config();
    config.policies.flows = 4;
    const auto judged = [&](const std::string& text) { return judge_data_ports(config, text); };
    CHECK(judged(R"({"data_ports":{"held":32,"taken":[]}})")->health == Health::fine);
    const auto some = judged(R"({"data_ports":{"held":30,"taken":[6831,6832]}})");
    CHECK(some->health == Health::doubtful);
    CHECK_THAT(some->sentence, Catch::Contains("other programs have the UDP ports 6831,6832"));
    const auto few = judged(R"({"data_ports":{"held":3,"taken":[6831]}})");
    CHECK(few->health == Health::wrong);
    CHECK_THAT(few->sentence, Catch::Contains("holds 3 of the UDP ports"));
    const auto tcp = judged(R"({"data_ports":{"held":32,"taken":[],"taken_tcp":[6840]}})");
    CHECK(tcp->health == Health::doubtful);
    CHECK_THAT(tcp->sentence, Catch::Contains("TCP ports 6840"));
    // That no daemon answers, or an older one, is another check's to say.
    CHECK_FALSE(judged(""));
    CHECK_FALSE(judged("[]"));
    CHECK_FALSE(judged(R"({"stages":[]})"));
    CHECK_FALSE(judged(R"({"data_ports":7})"));
}

TEST_CASE("the doctor warns of connections of others that can get the daemon's ports") {
    const Config config = default_config();
    const auto judged = [&](const std::string& range, const std::string& reserved) {
        return judge_local_ports(config, range, reserved);
    };
    CHECK(judged("32768\t60999", "")->health == Health::fine);
    const auto open = judged("1024\t65535", "");
    CHECK(open->health == Health::doubtful);
    CHECK_THAT(open->sentence,
               Catch::Contains("1024-65535") &&
                   Catch::Contains("add 6829,6830-6893 to net.ipv4.ip_local_reserved_ports"));
    CHECK(judged("1024\t65535", "8080,6829-6893")->health == Health::fine);
    CHECK(judged("1024\t65535", "6829,6830-6893,9000")->health == Health::fine);
    CHECK(judged("1024\t65535", "6829")->health == Health::doubtful);
    CHECK(judged("1024\t65535", "6830-6893")->health == Health::doubtful);
    CHECK(judged("1024\t6829", "")->health == Health::doubtful);
    CHECK(judged("6893\t7000", "")->health == Health::doubtful);
    CHECK(judged("6894\t7000", "")->health == Health::fine);
    CHECK_FALSE(judged("", ""));
}

TEST_CASE("the doctor compares Slurm's NodeAddr with what the host has") {
    Config config = default_config();
    config.interfaces = {{"ib0"}};
    const std::vector<AddressSeen> seen{
        {"lo", "127.0.0.1"}, {"eth0", "10.0.0.1"}, {"ib0", "10.1.0.1"}};
    const auto judged = [&](const std::string& name, const std::string& numeric) {
        return judge_node_address(config, name, numeric, seen);
    };
    CHECK(judged("n0-ib", "10.1.0.1").sentence == "n0-ib (10.1.0.1) is ib0's");
    const Finding other = judged("10.0.0.1", "10.0.0.1");
    CHECK(other.health == Health::fine);
    CHECK_THAT(other.sentence, Catch::Contains("by another interface (Interface)"));
    CHECK(judged("n0", "").health == Health::doubtful);
    CHECK_THAT(judged("n0", "127.0.1.1").sentence, Catch::Contains("this host's loopback"));
    const Finding wrong = judged("n0", "10.0.0.9");
    CHECK(wrong.health == Health::doubtful);
    CHECK_THAT(wrong.sentence, Catch::Contains("n0 (10.0.0.9) is no address of this host"));
}

TEST_CASE("the loopback of the host of this test passes TCP and UDP") {
    CHECK(check_loopback().health == Health::fine);
}
