#include "spank/host/options.h"

#include "stager/config/config.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;
using namespace std::chrono_literals;

TEST_CASE("the words behind the plugin's name are taken, others ignored") {
    std::string conf = "conf=/etc/x.conf";
    std::string socket = "socket=/run/x.sock";
    std::string other = "colour=blue";
    std::vector<char*> words{other.data(), conf.data(), socket.data()};
    const Arguments arguments = parse_arguments(words);
    CHECK(arguments.conf_path == "/etc/x.conf");
    CHECK(arguments.socket_path == "/run/x.sock");
    CHECK(parse_arguments({}).socket_path == kControlSocket);
    CHECK(parse_arguments({}).conf_path == "/etc/stagecast/stagecast.conf");
}

TEST_CASE("the plugin reads two keys of the site's configuration") {
    const Site site = parse_site("# x\n StageTimeout = 20 # s\nenabled=YES\nPort=1\n");
    CHECK(site.is_enabled);
    CHECK(site.stage_timeout == 20s);
    CHECK(parse_site("STAGETIMEOUT=5m").stage_timeout == 5min);
    CHECK(parse_site("StageTimeout=90s\r\n").stage_timeout == 90s);
    CHECK(parse_site("StageTimeout=90.5").stage_timeout == 90500ms);
    CHECK(parse_site("StageTimeout=20M").stage_timeout == 20min);
    CHECK_FALSE(site.is_script_first);
    CHECK(parse_site("StageFrom=Prolog-Script").is_script_first);
    CHECK_FALSE(parse_site("OnNodeFault=requeue").may_drop);
    CHECK(parse_site("OnNodeFault=Drop").may_drop);
    CHECK(parse_site("DestRoots=/a, /b/c//,/").dest_roots ==
          std::vector<std::string>{"/a", "/b/c", "/"});
    CHECK(parse_site("DestRoots=").dest_roots.empty());
    CHECK(parse_site("MaxBytes=1.5G").max_bytes == 3ULL << 29U);
    CHECK(parse_site("MaxBytes=much").max_bytes == 0);
    CHECK_FALSE(parse_site("Enabled=No").is_enabled);
    CHECK_FALSE(parse_site("x\nEnabled=false").is_enabled);
}

TEST_CASE("plugin and daemon read one line alike") {
    const std::string line = GENERATE(as<std::string>{},
                                      "StageTimeout=20M",
                                      "StageTimeout=20 Min",
                                      "StageTimeout=1.5H # long",
                                      "stagetimeout = 90.25S",
                                      "StageTimeout=86400",
                                      "StageTimeout=25h",
                                      "StageTimeout=0.9",
                                      "StageTimeout=90x",
                                      "StageTimeout=\"90\"",
                                      "Enabled=OFF",
                                      "Enabled=0",
                                      "Enabled=nope",
                                      "StageFrom=PROLOG-SCRIPT",
                                      "StageFrom=prolog");
    CAPTURE(line);
    const Site site = parse_site(line);
    const auto config = parse_config(line, "stagecast.conf");
    const Config known = config ? *config : default_config();  // It refuses the file.
    CHECK(site.stage_timeout == known.stage_timeout);
    CHECK(site.is_enabled == known.enabled);
    CHECK(site.is_script_first == (known.stage_from == StageFrom::prolog_script));
}

TEST_CASE("invalid values in the configuration leave the defaults") {
    for (const char* const text : {"",
                                   "StageTimeout",
                                   "StageTimeout=",
                                   "StageTimeout=0",
                                   "StageTimeout=-3",
                                   "StageTimeout=soon",
                                   "StageTimeout=5 parsecs",
                                   "StageTimeout=0.5",
                                   "StageTimeout=4000000000",
                                   "StageTimeout=\"20\"",
                                   "\x01\xff\n=\n==\n#Enabled=no"}) {
        INFO(text);
        CHECK(parse_site(text).stage_timeout == 10min);
        CHECK(parse_site(text).is_enabled);
    }
    CHECK(read_site("/nonexistent").stage_timeout == 10min);
    CHECK(read_site("/").is_enabled);
}
