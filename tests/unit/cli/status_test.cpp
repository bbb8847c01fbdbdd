#include "stager/cli/status.h"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

using namespace stage;

TEST_CASE("status reports all nodes where they are known, else this one") {
    nlohmann::json stage{{"job", 42},
                         {"phase", "transfer"},
                         {"nodes", 3},
                         {"root", "n0"},
                         {"bytes_total", 40'000'000},
                         {"bytes_here", 12'000'000}};
    const auto text = [&] { return status_text({{"stages", nlohmann::json::array({stage})}}); };
    CHECK(text() ==
          "job 42: transfer: 12.0 MB of 40.0 MB on this node; node n0 reports all 3 nodes\n");
    stage["done"] = 1;
    stage["bytes_least"] = 8'000'000;
    stage["slowest"] = "n2";
    stage["bytes_per_second"] = 4e6;
    CHECK(text() ==
          "job 42: transfer: 8.0 MB of 40.0 MB, 4.0 MB/s, 8 s to go, 1 of 3 nodes done, "
          "slowest n2\n");
    stage["bytes_total"] = 0;
    stage["nodes"] = 1;
    CHECK(text() == "job 42: transfer: 1 node\n");
    CHECK(status_text({{"stages", nlohmann::json::array()}}).empty());
}

TEST_CASE("explain reports how much was there already") {
    nlohmann::json stage{{"job", 42},
                         {"outcome", "ok"},
                         {"nodes", 1},
                         {"bytes", 40'000},
                         {"bytes_here", 40'000},
                         {"is_root", true}};
    const auto text = [&] { return explain_text({{"ended", nlohmann::json::array({stage})}}); };
    CHECK(text().find("job 42: ok, 40.0 KB to 1 node\n") == 0);
    CHECK(text().find("from the node cache, or there already: all of it\n") !=
          std::string::npos);
    stage["nodes"] = 3;
    CHECK(text().find("there already: 40.0 KB of 120.0 KB on all nodes\n") !=
          std::string::npos);
    stage["bytes_here"] = 0;
    CHECK(text().find("there already") == std::string::npos);
}

TEST_CASE("explain names the nodes that multicast did not reach") {
    const nlohmann::json stage{{"job", 42},
                               {"outcome", "ok"},
                               {"is_root", true},
                               {"unheard_group", nlohmann::json::array({"n2", 5})}};
    const std::string text = explain_text({{"ended", nlohmann::json::array({stage})}});
    CHECK(text.find("not reached by multicast: n2; it fetched") != std::string::npos);
    CHECK(text.find("not reached by multicast: ?; it fetched") != std::string::npos);
}

TEST_CASE("explain says that a staging went by TCP because multicast did not reach a node") {
    const nlohmann::json stage{{"job", 42},
                               {"outcome", "ok"},
                               {"is_root", true},
                               {"transport", "tcp unicast"},
                               {"transport_why", "because"},
                               {"transport_why_not", "udp multicast: not"},
                               {"relay", "a chain: so"},
                               {"relayed", true},
                               {"unheard_group", nlohmann::json::array({"n2"})}};
    const std::string text = explain_text({{"ended", nlohmann::json::array({stage})}});
    CHECK(text.find("  transport: tcp unicast: because\n  and not udp multicast: not\n"
                    "  passed on by a chain: so\n") != std::string::npos);
    CHECK(text.find("not reached by multicast: n2; so all nodes") != std::string::npos);
}
