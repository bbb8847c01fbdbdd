// Tests the doctor's checks of Slurm's settings.
#include "stager/cli/doctor/slurm/slurm_checks.h"

#include "stager/cli/doctor/doctor.h"
#include "stager/cli/doctor/host_checks.h"
#include "stager/cli/doctor/path_checks.h"
#include "stager/cli/doctor/slurm/plugstack.h"
#include "tests/unit/root.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <sys/statvfs.h>

#include <algorithm>

using namespace stage;

namespace {

SlurmSettings printed(const std::string& flags, const std::string& timeout) {
    return settings_of(
        "Configuration data as of 2026-11-20T12:00:00\n"
        "ClusterName             = lab\n"
        "PlugStackConfig         = (null)\n"
        "PrologEpilogTimeout     = " +
        timeout + "\nPrologFlags             = " + flags +
        "\nProlog                  = (null)\n");
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
        return judge_slurm(config, printed(flags, timeout), {});
    };
    CHECK(health_of(of("Alloc,DeferBatch", "65534"), "PrologFlags") == Health::fine);
    CHECK(health_of(of("Contain", "65534"), "PrologFlags") == Health::fine);
    CHECK(health_of(of("(null)", "65534"), "PrologFlags") == Health::wrong);
    CHECK(health_of(of("Alloc,Serial", "65534"), "PrologFlags") == Health::wrong);
    CHECK(health_of(of("DeferBatch", "65534"), "PrologFlags") == Health::wrong);
    CHECK(health_of(of("Alloc,Contain,RunInJob", "65534"), "PrologFlags") == Health::wrong);
    CHECK(health_of(of("Alloc", "65534"), "time limits") == Health::fine);
    CHECK(health_of(of("Alloc", "630 sec"), "time limits") == Health::fine);
    CHECK(health_of(of("Alloc", "629 sec"), "time limits") == Health::wrong);
    CHECK(health_of(of("Alloc", "600 sec"), "time limits") == Health::wrong);
    CHECK(health_of(of("Alloc", "65534"), "plugstack") == Health::unknown);
    CHECK(health_of(judge_slurm(config, {}, {}), "slurm") == Health::unknown);
}

TEST_CASE("the prolog's own limit counts, where Slurm has one") {
    const Config config = default_config();  // StageTimeout=600
    SlurmSettings settings = printed("Alloc", "65534");
    settings["PrologTimeout"] = "120";
    const auto findings = judge_slurm(config, settings, {});
    CHECK(health_of(findings, "time limits") == Health::wrong);
    CHECK(findings[1].sentence.find("PrologTimeout=120") == 0);
    settings["PrologTimeout"] = "65534";
    settings["PrologEpilogTimeout"] = "120";
    CHECK(health_of(judge_slurm(config, settings, {}), "time limits") == Health::fine);
    settings["PrologTimeout"] = "700 sec";
    CHECK(health_of(judge_slurm(config, settings, {}), "time limits") == Health::fine);
    settings.erase("PrologEpilogTimeout");
    settings["PrologTimeout"] = "120";
    CHECK(health_of(judge_slurm(config, settings, {}), "time limits") == Health::wrong);
}

TEST_CASE("a short MessageTimeout is doubtful where Slurm warns users of long prologs") {
    Config config = default_config();  // StageTimeout=600
    const auto of = [&](const std::string& release, const std::string& timeout) {
        SlurmSettings settings = printed("Alloc", "65534");
        settings["SLURM_VERSION"] = release;
        settings["MessageTimeout"] = timeout;
        return judge_slurm(config, settings, {});
    };
    const auto is_silent = [](const std::vector<Finding>& findings) {
        return std::ranges::none_of(
            findings, [](const Finding& one) { return one.subject == "notices"; });
    };
    for (const char* const release : {"22.05.8", "23.02.6", "23.02"}) {
        CHECK(is_silent(of(release, "10 sec")));
    }
    for (const char* const release : {"23.02.7", "23.11.0-0rc1", "24.11.5", "25.05", ""}) {
        CAPTURE(release);
        CHECK(health_of(of(release, "10 sec"), "notices") == Health::doubtful);
        CHECK(health_of(of(release, "60 sec"), "notices") == Health::fine);
    }
    CHECK(is_silent(of("24.11.5", "(null)")));
    config.stage_timeout = std::chrono::seconds{8};
    CHECK(health_of(of("24.11.5", "10 sec"), "notices") == Health::fine);
    CHECK(health_of(of("24.11.5", "9 sec"), "notices") == Health::doubtful);
}

TEST_CASE("StageFrom=prolog-script is nothing without a Prolog") {
    Config config = default_config();
    config.stage_from = StageFrom::prolog_script;
    SlurmSettings settings = printed("Alloc", "65534");
    CHECK(health_of(judge_slurm(config, settings, {}), "StageFrom") == Health::wrong);
    settings["Prolog"] = "/etc/slurm/prolog.sh";
    CHECK(health_of(judge_slurm(config, settings, {}), "StageFrom") == Health::fine);
    settings["Prolog"] = "(null)";
    settings["Prolog[0]"] = "/etc/slurm/prolog.sh";
    CHECK(health_of(judge_slurm(config, settings, {}), "StageFrom") == Health::fine);
}

TEST_CASE("a host is one of Slurm's nodes, or it is not, or it is unknown") {
    const auto nodes = nodes_of(
        "NodeName=n0 Arch=x86_64 NodeAddr=10.0.0.1 NodeHostName=alpha Version=22\n"
        "NodeName=n1 NodeAddr=10.0.0.2 NodeHostName=beta.site.org \n");
    REQUIRE(nodes.size() == 2);
    CHECK(node_on(nodes, "alpha.site.org") == "n0");
    CHECK(node_on(nodes, "beta") == "n1");
    CHECK_FALSE(is_no_node(nodes, "beta"));
    CHECK(is_no_node(nodes, "login"));
    CHECK_FALSE(is_no_node({}, "login"));

    Config config = default_config();
    CHECK_FALSE(judge_node_name(config, nodes, "alpha"));
    config.node_name = "n1";
    CHECK(judge_node_name(config, nodes, "beta")->health == Health::fine);
    const auto other = judge_node_name(config, nodes, "alpha");
    REQUIRE(other);
    CHECK(other->health == Health::wrong);
    CHECK(other->sentence.find("let it be n0") != std::string::npos);
    config.node_name = "n7";
    CHECK(judge_node_name(config, nodes, "alpha")->health == Health::wrong);
    CHECK_FALSE(judge_node_name(config, {}, "alpha"));
}

TEST_CASE("places that are not there are named") {
    const Scratch place;
    Config config = default_config();
    config.libexec_dir = place.path();
    CHECK(check_libexec(config).health == Health::wrong);
    config.dest_roots = {place.path(), place.path() + "/nowhere"};
    const auto roots = check_dest_roots(config);
    REQUIRE(roots.size() == 1);
    CHECK(roots[0].subject == "DestRoots");
    CHECK(roots[0].sentence.find("/nowhere is no directory") != std::string::npos);
    CHECK_FALSE(check_metrics_file(config));
    config.metrics_file = place.path() + "/x.prom";
    CHECK(check_metrics_file(config)->health == Health::fine);
    config.metrics_file = place.path() + "/nowhere/x.prom";
    CHECK(check_metrics_file(config)->health == Health::wrong);
}

TEST_CASE("a place where no program can be executed is doubtful") {
    const Scratch place;
    Config config = default_config();
    config.stage_root = place.path();
    config.dest_roots = {"/proc"};  // As systemd and the kernel's own init mount it.
    struct statvfs about {};
    if (::statvfs("/proc", &about) != 0 || (about.f_flag & ST_NOEXEC) == 0) {
        WARN("skipped: /proc is not mounted noexec here");
        return;
    }
    const auto found = check_noexec(config);
    REQUIRE(found.size() == 1);
    CHECK(found[0].subject == "DestRoots");
    CHECK(found[0].sentence.find("/proc is mounted noexec") != std::string::npos);
}

TEST_CASE("a directory of PushRoots that is not there, or another's, is named", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch place;
    Config config = default_config();
    config.push_roots = {place.path() + "/none",
                         place.directory("open", 0777),
                         place.directory("alices", 0755, 2001),
                         place.directory("good", 0755)};
    const auto roots = check_push_roots(config);
    REQUIRE(roots.size() == 4);
    CHECK(roots[0].subject == "PushRoots");
    CHECK(roots[0].sentence.find("/none: No such file") != std::string::npos);
    CHECK(roots[1].sentence.find("/open can be written by others") != std::string::npos);
    CHECK(roots[2].sentence.find("/alices does not belong to root") != std::string::npos);
    CHECK(roots[3].subject == "PushFrom");
    config.push_from = {"n0"};
    CHECK(check_push_roots(config).size() == 3);
}

TEST_CASE("a StageRoot beside slurmd's own directory is doubtful") {
    const Scratch place;
    Config config = default_config();
    config.stage_root = place.path() + "/not/yet/there";
    const auto shared = check_spool(config, place.path());
    REQUIRE(shared);
    CHECK(shared->health == Health::doubtful);
    CHECK_FALSE(check_spool(config, "/proc/self"));
    CHECK_FALSE(check_spool(config, ""));
    CHECK(spool_of("/var/spool/%n/%h/%n", "alpha", "n0") == "/var/spool/n0/alpha/n0");
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
    CHECK((*line)->again.empty());
    // As where a site's image has the plugin, and a package brings it once more.
    const std::string other =
        place.write("conf.d/zz.conf", "required /usr/local/lib/slurm/stagecast.so\n");
    line = find_in_plugstack(top);
    REQUIRE(line);
    REQUIRE(*line);
    CHECK((*line)->file == own);
    CHECK((*line)->again == other);
    CHECK_FALSE(find_in_plugstack(place.path() + "/absent"));
    // One that includes itself ends.
    const std::string loop = place.write("loop", "include " + place.path() + "/loop\n");
    line = find_in_plugstack(loop);
    REQUIRE(line);
    CHECK_FALSE(*line);
}

TEST_CASE("plugstack.conf is at PlugStackConfig, else beside slurm.conf") {
    const Scratch place;
    const std::string conf = place.write("slurm.conf", "");
    const std::string beside = place.path() + "/plugstack.conf";
    CHECK(plugstack_path("/x/plugs", {conf}) == "/x/plugs");
    CHECK(plugstack_path("", {"", "/nowhere/slurm.conf", conf}) == beside);
    CHECK(plugstack_path("(null)", {conf}) == beside);
    CHECK(plugstack_path("", {"/nowhere/slurm.conf"}).empty());
    CHECK(slurm_confs({{"SLURM_CONF", "/opt/slurm/etc/slurm.conf"}}).at(1) ==
          "/opt/slurm/etc/slurm.conf");

    const Config config = default_config();
    const SlurmSettings settings = printed("Alloc", "65534");  // PlugStackConfig = (null)
    CHECK(health_of(judge_slurm(config, settings, {conf}), "plugstack") == Health::wrong);
    place.write("plugstack.conf", "optional stagecast.so\n");
    CHECK(health_of(judge_slurm(config, settings, {conf}), "plugstack") == Health::fine);
}

TEST_CASE("a report has a line for each finding") {
    const std::string text = report({fine("a", "b"), wrong("c", "d"), unknown("e", "f")});
    CHECK(text == "ok     a: b\nWRONG  c: d\n?      e: f\n");
}
