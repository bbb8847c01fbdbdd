#include "stager/daemon/base/json_text.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("a name of any bytes can be written as JSON, and read again") {
    CHECK(json_text({{"name", "a\xff\xc3("}}) == "{\"name\":\"a\uFFFD\uFFFD(\"}");
    CHECK(nlohmann::json::parse(json_text("\x01\n\"\xe4")) == "\x01\n\"\uFFFD");
}

TEST_CASE("a report that no answer holds loses its lists, keeps its counts and says so") {
    CHECK(report_of({{"done", 3}}).json == "{\"done\":3}");
    const auto with_list = [](std::size_t length) {
        return nlohmann::json{{"done", 3},
                              {"failed", nlohmann::json::array({std::string(length, 'x')})}};
    };
    const std::size_t rest = report_of(with_list(0)).json.size();
    CHECK(report_of(with_list(kMaxReportBytes - rest)).json.size() == kMaxReportBytes);
    const auto cut =
        nlohmann::json::parse(report_of(with_list(kMaxReportBytes - rest + 1)).json);
    CHECK(cut["done"] == 3);
    CHECK(cut["failed"].empty());
    CHECK(cut["why"].get<std::string>().find("too long") != std::string::npos);
}
