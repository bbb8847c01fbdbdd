// Tests which jobs are requeued after a node's fault.
#include "stager/daemon/result/failure_notice.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("only whole jobs are requeued, for no user's error, and not for ever") {
    Config config = default_config();
    StageKey key{.job_id = 42, .step_id = kWholeJob, .restart = 0};
    CHECK_FALSE(is_to_be_requeued(config, key, Blame::node));
    config.on_node_fault = OnNodeFault::requeue;
    CHECK(is_to_be_requeued(config, key, Blame::node));
    CHECK(is_to_be_requeued(config, key, Blame::internal));
    CHECK_FALSE(is_to_be_requeued(config, key, Blame::user));
    key.restart = kRequeuesMax - 1;
    CHECK(is_to_be_requeued(config, key, Blame::node));
    key.restart = kRequeuesMax;
    CHECK_FALSE(is_to_be_requeued(config, key, Blame::node));
    CHECK_FALSE(
        is_to_be_requeued(config, {.job_id = 42, .step_id = 0, .restart = 0}, Blame::node));
    config.on_node_fault = OnNodeFault::drop;
    key.restart = 0;
    CHECK_FALSE(is_to_be_requeued(config, key, Blame::node));
}
