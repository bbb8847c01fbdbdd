// Tests that many names are looked up in order, and slow ones are reported as such.
#include "stager/slurm/name_lookup.h"

#include <catch2/catch.hpp>

#include <future>

using namespace stage;

TEST_CASE("numbers need no name server, and answers come in the order of the names") {
    std::vector<NodeName> names;
    for (int i = 0; i < 100; ++i) {
        names.push_back(
            {.node = "n" + std::to_string(i), .address = "10.0.0." + std::to_string(i)});
    }
    const auto answers = look_up_all(names, std::chrono::minutes{1});
    REQUIRE(answers.size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        REQUIRE(answers[i]);
        CHECK(*answers[i] == names[i].address);
    }
    CHECK(look_up_all({}, std::chrono::minutes{1}).empty());
}

TEST_CASE("a name that has no address is an error, and the others' answers stay") {
    const auto answers = look_up_all({{.node = "n0", .address = "10.0.0.1"},
                                      {.node = "n1", .address = "no such.name"},
                                      {.node = "n2", .address = "fd00::1"}},
                                     std::chrono::minutes{1});
    CHECK(answers[0]);
    REQUIRE_FALSE(answers[1]);
    CHECK_THAT(answers[1].error().sentence(), Catch::Contains("node n1"));
    CHECK(*answers[2] == "fd00::1");
}

TEST_CASE("a look-up that is not answered in time is reported as slow, not unknown") {
    std::promise<void> released;
    const std::shared_future<void> release = released.get_future().share();
    const auto answers = look_up_all({{.node = "n0", .address = "slow.example"}},
                                     Duration::zero(),
                                     [release](const NodeName&) -> Result<std::string> {
                                         release.wait();
                                         return std::string{"10.0.0.1"};
                                     });
    released.set_value();
    REQUIRE_FALSE(answers[0]);
    CHECK_THAT(answers[0].error().sentence(), Catch::Contains("slow.example took too long"));
}
