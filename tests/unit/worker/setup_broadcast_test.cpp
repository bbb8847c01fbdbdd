// Does SETUP determine the policies of a broadcast?
#include "stager/worker/staging/setup_broadcast.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("a source drops failed receivers only if SETUP says so") {
    WorkerSetup setup;
    BroadcastConfig config;
    follow(setup, config);
    CHECK_FALSE(config.drops_failed);
    setup.drops_failed = true;
    follow(setup, config);
    CHECK(config.drops_failed);
}
