#include "stager/push/cluster_targets.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

using Targets = std::vector<ClusterTargets>;

Targets targets(std::string_view list) {
    auto targets = targets_by_cluster(list, "a");
    REQUIRE(targets);
    return *std::move(targets);
}

}  // namespace

TEST_CASE("a list without a colon is of this cluster") {
    CHECK(targets("n[0-7,9],m1") == Targets{{"", "n[0-7,9],m1"}});
}

TEST_CASE("a cluster counts for its item only, and comes once") {
    CHECK(targets("b:n[0-63,70],n1,b:x,c:n[2-3]") ==
          Targets{{"b", "n[0-63,70],x"}, {"", "n1"}, {"c", "n[2-3]"}});
}

TEST_CASE("this cluster may be named, too") {
    CHECK(targets("a:n1,b:n2,n3") == Targets{{"", "n1,n3"}, {"b", "n2"}});
}

TEST_CASE("an item without nodes or without a cluster's name is refused and quoted") {
    for (const char* const wrong : {"n1,,n2", "b:", ":n1", "", "n1,"}) {
        CAPTURE(wrong);
        const auto refused = targets_by_cluster(wrong, "");
        REQUIRE_FALSE(refused);
        CHECK(refused.error().sentence().find("names no node") != std::string::npos);
    }
}
