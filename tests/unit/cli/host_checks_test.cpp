// Tests what the doctor says of a host where jobs are only submitted.
#include "stager/cli/doctor/host_checks.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("a submit host whose stagecast.conf sets no key is doubtful") {
    Config config = default_config();
    const Finding without = judge_submissions(config);
    CHECK(without.health == Health::doubtful);
    CHECK_THAT(without.sentence,
               Catch::Contains("OnNodeFault=fail, StageTimeout=600, both by default") &&
                   Catch::Contains("copy the file of the compute nodes"));
    config.on_node_fault = OnNodeFault::drop;
    const Finding with = judge_submissions(config);
    CHECK(with.health == Health::fine);
    CHECK_THAT(with.sentence, Catch::Contains("OnNodeFault=drop, StageTimeout=600;"));
}
