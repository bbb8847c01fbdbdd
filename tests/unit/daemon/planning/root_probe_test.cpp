// Tests that a node that waits for the job's first one gets one answer.
#include "stager/daemon/planning/root_probe.h"

#include "tests/unit/daemon/false_node.h"
#include "tests/unit/daemon/services_world.h"

#include <catch2/catch.hpp>

namespace stage {

// The answer and the end of the link come in one read, and the stage that asked is gone then.
TEST_CASE("an answer behind which the other daemon hangs up is heard once") {
    ServicesWorld world;
    FalseNode first{world, {TellMessage{TellWord::announced}}};
    world.config.port = first.port();
    for (const bool is_gone : {false, true}) {
        CAPTURE(is_gone);
        auto probe = std::make_unique<RootProbe>(
            world.services->basics, world.services->addresses, world.services->dialer);
        int answers = 0;
        probe->ask(AskMessage{{.job_id = 7, .step_id = 0}},
                   SlurmNode{.name = "n3", .address = "127.0.0.1"},
                   [&](RootProbe::Said said, const std::string&) {
                       CHECK(said == RootProbe::Said::announced);
                       ++answers;
                       if (is_gone) {
                           probe.reset();
                       }
                   });
        world.run_until([&] { return answers > 0; });
        bool has_ended = false;
        world.loop().after(std::chrono::milliseconds{20}, [&] { has_ended = true; });
        world.run_until([&] { return has_ended; });
        CHECK(answers == 1);
    }
}

// Slurm can't be asked here: a world without it has no such child.
TEST_CASE("a node whose address is known is asked without Slurm") {
    ServicesWorld world;
    FalseNode first{world, {TellMessage{TellWord::unannounced}}};
    world.config.port = first.port();
    for (const bool is_known : {true, false}) {
        CAPTURE(is_known);
        world.services->addresses = {};
        if (is_known) {
            world.services->addresses.learn("n3", "127.0.0.1");
        }
        RootProbe probe{
            world.services->basics, world.services->addresses, world.services->dialer};
        std::optional<RootProbe::Said> answer;
        probe.ask(AskMessage{{.job_id = 7, .step_id = 0}},
                  std::string{"n3"},
                  [&](RootProbe::Said said, const std::string&) { answer = said; });
        world.run_until([&] { return answer.has_value(); });
        CHECK(*answer == (is_known ? RootProbe::Said::unannounced : RootProbe::Said::nothing));
    }
}

}  // namespace stage
