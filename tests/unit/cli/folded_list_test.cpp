#include "stager/cli/push/folded_list.h"

#include "stager/slurm/host_list.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace stage {
namespace {

TEST_CASE("names that differ in a number share a bracket") {
    CHECK(folded_list({}).empty());
    CHECK(folded_list({"n3"}) == "n3");
    CHECK(folded_list({"n3", "n4"}) == "n[3,4]");
    CHECK(folded_list({"n9", "n4", "n10", "n5", "n6"}) == "n[4-6,9,10]");
    CHECK(folded_list({"login", "n1", "login", "gpu1", "n2", "n3"}) == "login,n[1-3],gpu1");
    CHECK(folded_list({"b:n1", "b:n2", "n1"}) == "b:n[1,2],n1");
    CHECK(folded_list({"n1-ib", "n2-ib", "n3-ib"}) == "n[1-3]-ib");
}

TEST_CASE("padding is kept") {
    CHECK(folded_list({"n08", "n09", "n10", "n11"}) == "n[08-11]");
    CHECK(folded_list({"n1", "n01", "n2", "n02"}) == "n[1,2],n[01,02]");
    CHECK(folded_list({"n0", "n1"}) == "n[0,1]");
}

TEST_CASE("a name with more digits than a number holds stands as it is") {
    CHECK(folded_list({"n0123456789", "n0123456790"}) == "n0123456789,n0123456790");
    CHECK(folded_list({"?", "n1", "??"}) == "?,n1,??");
}

TEST_CASE("a folded list has the same names") {
    const std::vector<std::string> names{
        "r1n1", "r1n2", "r2n3", "x", "n007", "n008", "n1000", "n999", "n0", "n00", "9", "10"};
    auto again = expand_host_list(folded_list(names));
    REQUIRE(again);
    std::ranges::sort(*again);
    std::vector<std::string> sorted = names;
    std::ranges::sort(sorted);
    CHECK(*again == sorted);
}

}  // namespace
}  // namespace stage
