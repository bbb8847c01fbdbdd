#include "stager/daemon/base/json_text.h"

#include <catch2/catch.hpp>

using namespace stage;

TEST_CASE("a name of any bytes can be written as JSON, and read again") {
    CHECK(json_text({{"name", "a\xff\xc3("}}) == "{\"name\":\"a\uFFFD\uFFFD(\"}");
    CHECK(nlohmann::json::parse(json_text("\x01\n\"\xe4")) == "\x01\n\"\uFFFD");
}

TEST_CASE("a report that no answer holds says so instead") {
    CHECK(report_of({{"done", 3}}).json == "{\"done\":3}");
    CHECK(report_of(std::string(kMaxReportBytes - 2, 'x')).json.size() == kMaxReportBytes);
    CHECK(report_of(std::string(kMaxReportBytes - 1, 'x')).json ==
          "{\"why\":\"too long to tell\"}");
}
