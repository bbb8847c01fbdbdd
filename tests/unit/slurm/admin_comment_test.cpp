// Tests that stagecast's reason leaves what others have written into a job's AdminComment.
#include "stager/slurm/admin_comment.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("a reason stands alone, or behind what others wrote") {
    CHECK(with_reason("", "stagecast: node n1: why") == "stagecast: node n1: why");
    CHECK(with_reason("project 7", "stagecast: why") == "project 7 ; stagecast: why");
    CHECK(with_reason("a ; b", "stagecast: why") == "a ; b ; stagecast: why");
    CHECK(with_reason(R"({"stagecast: ":1})", "stagecast: why") ==
          R"({"stagecast: ":1} ; stagecast: why)");
}

TEST_CASE("a reason takes the place of an earlier one only") {
    CHECK(with_reason("stagecast: old (requeued)", "stagecast: new") == "stagecast: new");
    CHECK(with_reason("a ; stagecast: old", "stagecast: new") == "a ; stagecast: new");
    CHECK(with_reason("stagecast: old ; b", "stagecast: new") == "b ; stagecast: new");
    CHECK(with_reason("a ; stagecast: old ; b ; stagecast: older", "stagecast: new") ==
          "a ; b ; stagecast: new");
}

TEST_CASE("a reason is one part, whatever a user's file is called") {
    const std::string once = with_reason("a", "stagecast: node n1: /x ; y ; z: why");
    CHECK(once == "a ; stagecast: node n1: /x, y, z: why");
    CHECK(with_reason(once, "stagecast: new") == "a ; stagecast: new");
}
