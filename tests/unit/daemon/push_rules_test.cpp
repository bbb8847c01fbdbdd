#include "stager/daemon/push_rules.h"

#include <catch2/catch.hpp>

using namespace stage;

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
                              "1;wd,/a,relative",
                              "1;wd,/a,",
                              "1;wl,/a,/images/a",
                              "nonsense",
                              ""}) {
        CAPTURE(specs);
        CHECK(objection_to_push(config, specs));
    }
    config.enabled = false;
    CHECK(objection_to_push(config, "1;wd,/a,/images/a"));
}
