#include "transport/base/log.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;

namespace {

struct Line {
    LogLevel level;
    std::string text;
};

/// What a logger of `least` writes.
class Captured {
  public:
    explicit Captured(LogLevel least)
        : logger{[this](LogLevel level, std::string_view line) {
                     lines.push_back({level, std::string{line}});
                 },
                 least} {}

    std::vector<Line> lines;
    Logger logger;
};

}  // namespace

TEST_CASE("a line is a sentence and its facts") {
    Captured log{LogLevel::debug};
    log.logger.info("a stage begins", {{"job", 42}, {"node", "n3"}});
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].level == LogLevel::info);
    CHECK(log.lines[0].text == "a stage begins job=42 node=n3");
}

TEST_CASE("a value can forge neither a field nor a line") {
    Captured log{LogLevel::debug};
    log.logger.warn("refused", {{"name", "a b"}});
    log.logger.warn("refused", {{"name", "x\njob=1 root"}});
    log.logger.warn("refused", {{"name", "say \"hi\"\\"}});
    log.logger.warn("refused", {{"name", "a=b"}});
    log.logger.warn("refused", {{"name", ""}});
    log.logger.warn("refused", {{"name", std::string{"\x1b[31m\x7f"}}});
    REQUIRE(log.lines.size() == 6);
    CHECK(log.lines[0].text == R"(refused name="a b")");
    CHECK(log.lines[1].text == R"(refused name="x\x0ajob=1 root")");
    CHECK(log.lines[2].text == R"(refused name="say \"hi\"\\")");
    CHECK(log.lines[3].text == R"(refused name="a=b")");
    CHECK(log.lines[4].text == R"(refused name="")");
    CHECK(log.lines[5].text == R"(refused name="\x1b[31m\x7f")");
}

TEST_CASE("what is below the least level is not written") {
    Captured log{LogLevel::warn};
    log.logger.debug("no");
    log.logger.info("no");
    log.logger.warn("yes");
    log.logger.error("yes");
    CHECK(log.lines.size() == 2);
}
