// Does the doctor read Slurm's settings as an admin would?
#include "stager/cli/slurm_checks.h"

#include "stager/cli/doctor.h"
#include "stager/cli/plugstack.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

std::string printed(const std::string& flags, const std::string& timeout) {
    return "Configuration data as of 2026-11-20T12:00:00\n"
           "ClusterName             = lab\n"
           "PlugStackConfig         = (null)\n"
           "PrologEpilogTimeout     = " +
           timeout + "\nPrologFlags             = " + flags + "\n";
}

Health health_of(const std::vector<Finding>& findings, const std::string& subject) {
    for (const Finding& finding : findings) {
        if (finding.subject == subject) {
            INFO(finding.sentence);
            return finding.health;
        }
    }
    FAIL("nothing is said of " << subject);
    return Health::unknown;
}

}  // namespace

TEST_CASE("prologs must run at allocation, not one by one, and longer than a stage") {
    const Config config = default_config();  // StageTimeout=600
    const auto of = [&](const std::string& flags, const std::string& timeout) {
        return judge_slurm(config, printed(flags, timeout));
    };
    CHECK(health_of(of("Alloc,DeferBatch", "65534"), "PrologFlags") == Health::fine);
    CHECK(health_of(of("Contain", "65534"), "PrologFlags") == Health::fine);
    CHECK(health_of(of("(null)", "65534"), "PrologFlags") == Health::wrong);
    CHECK(health_of(of("Alloc,Serial", "65534"), "PrologFlags") == Health::wrong);
    CHECK(health_of(of("DeferBatch", "65534"), "PrologFlags") == Health::wrong);
    CHECK(health_of(of("Alloc", "65534"), "time limits") == Health::fine);
    CHECK(health_of(of("Alloc", "630 sec"), "time limits") == Health::fine);
    CHECK(health_of(of("Alloc", "629 sec"), "time limits") == Health::wrong);
    CHECK(health_of(of("Alloc", "600 sec"), "time limits") == Health::wrong);
    CHECK(health_of(of("Alloc", "65534"), "plugstack") == Health::unknown);
    CHECK(health_of(judge_slurm(config, ""), "slurm") == Health::unknown);
}

TEST_CASE("the plugin's line is found through includes, and missed where it is not") {
    const Scratch place;
    const std::string top = place.write("plugstack.conf",
                                        "# optional /x/stagecast.so\n"
                                        "required other.so\n"
                                        "include " +
                                            place.path() + "/conf.d/*.conf\n");
    auto line = find_in_plugstack(top);
    REQUIRE(line);
    CHECK_FALSE(*line);
    place.directory("conf.d", 0755);
    const std::string own =
        place.write("conf.d/stagecast.conf", "optional /usr/lib/slurm/stagecast.so conf=/x\n");
    line = find_in_plugstack(top);
    REQUIRE(line);
    REQUIRE(*line);
    CHECK((*line)->file == own);
    CHECK((*line)->plugin == "/usr/lib/slurm/stagecast.so");
    CHECK_FALSE((*line)->is_required);
    CHECK_FALSE(find_in_plugstack(place.path() + "/absent"));
    // One that includes itself ends.
    const std::string loop = place.write("loop", "include " + place.path() + "/loop\n");
    line = find_in_plugstack(loop);
    REQUIRE(line);
    CHECK_FALSE(*line);
}

TEST_CASE("a report has a line for each finding") {
    const std::string text = report({fine("a", "b"), wrong("c", "d"), unknown("e", "f")});
    CHECK(text == "ok     a: b\nWRONG  c: d\n?      e: f\n");
}
