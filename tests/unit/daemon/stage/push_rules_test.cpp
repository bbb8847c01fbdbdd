#include "stager/daemon/stage/push_rules.h"

#include <catch2/catch.hpp>

using namespace stage;
using Catch::Matchers::Contains;

namespace {

PushSource source(const std::string& node, const std::string& address) {
    return {.node = node, .address = parse_ip(address).value()};
}

std::string said(const std::vector<std::string>& push_from,
                 const PushSource& source,
                 const std::string& known = "") {
    Config config = default_config();
    config.push_from = push_from;
    return objection_to_source(config, source, known).value_or("taken");
}

}  // namespace

TEST_CASE("a push goes below this node's PushRoots and nowhere else") {
    Config config = default_config();
    CHECK(objection_to_push(config, "1;wd,/a,/images/a"));
    config.push_roots = {"/images", "/opt/x"};
    CHECK_FALSE(objection_to_push(config, "1;wd,/a,/images/a"));
    CHECK_FALSE(objection_to_push(config, "1;wd,/a,/opt/x/y/"));
    for (const char* specs : {"1;wd,/a,/images",
                              "1;wd,/a,/imagesx/a",
                              "1;wd,/a,/images/../etc/a",
                              "1;wd,/a,/opt/y",
                              "1;wd,/a,../a",
                              "1;wl,/a,/images/a",
                              "1;wx,/a,/images/a",
                              "1;wb,/a,/images/a",
                              "nonsense",
                              ""}) {
        CAPTURE(specs);
        CHECK(objection_to_push(config, specs));
    }
    config.enabled = false;
    CHECK(objection_to_push(config, "1;wd,/a,/images/a"));
}

TEST_CASE("what a push takes away again at its end needs none of PushRoots") {
    Config config = default_config();
    CHECK_FALSE(objection_to_push(config, "1;wd,/a,doctor"));
    CHECK(objection_to_push(config, "1;wd,/a,doctor;wd,/b,/images/b"));
    CHECK(objection_to_push(config, "1;wx,/a,doctor"));
    CHECK(objection_to_push(config, "1;wd,/a,a/b"));
    config.enabled = false;
    CHECK(objection_to_push(config, "1;wd,/a,doctor"));
}

TEST_CASE("a push is taken from where PushFrom says, from nowhere by default") {
    const PushSource login = source("login1", "10.0.0.1");
    CHECK_THAT(said({}, login), Contains("PushFrom") && Contains("login1"));
    CHECK_THAT(said({}, login, "10.0.0.1"), Contains("is empty"));
    CHECK(said({"10.0.0.0/24"}, login) == "taken");
    CHECK(said({"10.0.0.1"}, source("any", "10.0.0.1")) == "taken");
    CHECK(said({"n1", "login[1-2]"}, login, "10.0.0.1") == "taken");
    CHECK_THAT(said({"n1", "10.0.1.0/24"}, login, "10.0.0.1"),
               Contains("node login1 at 10.0.0.1 is none of") && Contains("n1, 10.0.1.0/24"));
    CHECK_THAT(said({"login12"}, login, "10.0.0.1"), Contains("is none of"));
}

TEST_CASE("a name in PushFrom is worth what its address is") {
    const PushSource claims = source("login1", "10.0.0.66");
    CHECK_THAT(said({"login1"}, claims, "10.0.0.1"),
               Contains("connects from 10.0.0.66") && Contains("its address is 10.0.0.1"));
    CHECK_THAT(said({"login1"}, claims), Contains("is not known here"));
    CHECK_THAT(said({"login1"}, source("login1", "fd00::1"), "10.0.0.1"), Contains("fd00::1"));
    Config config = default_config();
    CHECK_FALSE(needs_address(config, claims));
    config.push_from = {"login1"};
    CHECK(needs_address(config, claims));
    CHECK_FALSE(needs_address(config, source("n7", "10.0.0.66")));
    config.push_from = {"login1", "10.0.0.66"};
    CHECK_FALSE(needs_address(config, claims));
}
