#include "stager/cli/status.h"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

using namespace stage;

TEST_CASE("explain names whom multicast did not reach") {
    const nlohmann::json stage{{"job", 42},
                               {"outcome", "ok"},
                               {"is_root", true},
                               {"unheard_group", nlohmann::json::array({"n2", 5})}};
    const std::string text = explain_text({{"ended", nlohmann::json::array({stage})}});
    CHECK(text.find("not reached by multicast: n2; it fetched") != std::string::npos);
    CHECK(text.find("not reached by multicast: ?; it fetched") != std::string::npos);
}

TEST_CASE("explain names who left the multicast group, and nobody else") {
    nlohmann::json stage{{"job", 42},
                         {"outcome", "ok"},
                         {"nodes", 3},
                         {"is_root", true},
                         {"left_group", nlohmann::json::array({"n2"})}};
    const std::string text = explain_text({{"ended", nlohmann::json::array({stage})}});
    CHECK(text.find("left the multicast group: n2, because") != std::string::npos);
    CHECK(text.find("n1") == std::string::npos);
    stage["left_group"] = nlohmann::json::array();
    CHECK(explain_text({{"ended", nlohmann::json::array({stage})}}).find("multicast group") ==
          std::string::npos);
}
