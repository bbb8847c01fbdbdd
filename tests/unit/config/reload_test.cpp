// Tests which keys change when the file is read again.
#include "stager/config/reload.h"

#include "stager/config/key.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

Config config_of(std::string_view text) {
    auto config = parse_config(text, "test");
    REQUIRE(config);
    return *config;
}

}  // namespace

TEST_CASE("nothing changed: nothing is said") {
    const Config running = config_of("StageRoot=/local\nMaxBytes=3G\n");
    const Reloaded reloaded = reload(running, running);
    CHECK(reloaded.config == running);
    CHECK(reloaded.changed.empty());
    CHECK(reloaded.at_restart.empty());
}

TEST_CASE("limits change at once, the daemon's foundations at a restart") {
    const Config running = config_of("StageRoot=/local\nPort=7000\nMaxBytes=3G\n");
    const Reloaded reloaded = reload(
        running,
        config_of("StageRoot=/other\nPort=7001\nMaxBytes=4G\nEnabled=no\nSlurmUser=0\n"));
    CHECK(reloaded.changed == "Enabled,MaxBytes");
    CHECK(reloaded.at_restart == "StageRoot,Port,SlurmUser");
    CHECK(reloaded.config ==
          config_of("StageRoot=/local\nPort=7000\nMaxBytes=4G\nEnabled=no\n"));
}

TEST_CASE("the printed file and the manual name the keys that need a restart") {
    std::size_t waiting = 0;
    for (const ConfigKey& key : config_keys()) {
        waiting += key.reread == Reread::at_restart ? 1U : 0U;
    }
    REQUIRE(waiting > 0);
    for (const std::string& text : {print_config(default_config()), print_manual()}) {
        std::size_t said = 0;
        for (std::size_t at = 0; (at = text.find(kAtRestart, at)) != std::string::npos; ++at) {
            ++said;
        }
        CHECK(said == waiting);
    }
}

}  // namespace stage
