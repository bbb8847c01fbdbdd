#include "pmix/static/host_file.h"

#include "pmix/business_card.h"

#include <catch2/catch.hpp>

#include <cerrno>

namespace stage {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("a line is a member") {
    CHECK(*parse_host_file("10.0.0.1\n10.0.0.2\n", "f") == Names{"10.0.0.1", "10.0.0.2"});
    CHECK(*parse_host_file("n0", "f") == Names{"n0"});
    CHECK(*parse_host_file("# ours\n\n  fd00::1 # rank 0\r\n\tn1\n", "f") ==
          Names{"fd00::1", "n1"});
}

TEST_CASE("an invalid host file is refused with the line") {
    CHECK(parse_host_file("n0\nn1 slots=4\n", "hosts").error().sentence() ==
          "hosts, line 2: one address a line, nothing else");
    CHECK_FALSE(parse_host_file("n0\rn1\n", "f"));
    CHECK_FALSE(parse_host_file(std::string_view{"10.0.0.1\0x", 10}, "f"));
    CHECK_FALSE(parse_host_file("", "f"));
    CHECK_FALSE(parse_host_file("# empty\n\n", "f"));
    std::string many;
    for (std::size_t i = 0; i <= kMaxCards; ++i) {
        many += "a\n";
    }
    CHECK_FALSE(parse_host_file(many, "f"));
}

TEST_CASE("a file that isn't there is named") {
    const Result<HostList> hosts = read_host_file("/nonexistent/hosts");
    REQUIRE_FALSE(hosts);
    CHECK(hosts.error().cause() == ENOENT);
    CHECK(hosts.error().sentence() ==
          "reading the host file /nonexistent/hosts: No such file or directory");
}

TEST_CASE("a host's name that leads to its loopback is refused, and a number is taken") {
    const Result<HostList> hosts = resolve_hosts({"192.0.2.1", "localhost"}, "hosts");
    REQUIRE_FALSE(hosts);
    CHECK(hosts.error().sentence().starts_with("hosts: localhost is "));
    CHECK(resolve_hosts({"192.0.2.1", "127.0.0.1"}, "hosts"));
    CHECK(resolve_hosts({"localhost", "localhost"}, "hosts"));
}

}  // namespace
}  // namespace stage
