#include "transport/base/log.h"

#include "tests/unit/scratch.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

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

TEST_CASE("a line is a message and its facts") {
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
    log.logger.warn("refused", {{"name", "Größe\x9b\xc2\x9b"}});
    REQUIRE(log.lines.size() == 7);
    CHECK(log.lines[0].text == R"(refused name="a b")");
    CHECK(log.lines[1].text == R"(refused name="x\x0ajob=1 root")");
    CHECK(log.lines[2].text == R"(refused name="say \"hi\"\\")");
    CHECK(log.lines[3].text == R"(refused name="a=b")");
    CHECK(log.lines[4].text == R"(refused name="")");
    CHECK(log.lines[5].text == R"(refused name="\x1b[31m\x7f")");
    CHECK(log.lines[6].text == R"(refused name="Größe\x9b\xc2\x9b")");
}

TEST_CASE("a line for the journal has its priority in front, another one has not") {
    CHECK(stderr_line("x", LogLevel::warn, "s", false) == "x: warning: s\n");
    CHECK(stderr_line("x", LogLevel::debug, "s", true) == "<7>x: debug: s\n");
    CHECK(stderr_line("x", LogLevel::info, "s", true) == "<6>x: info: s\n");
    CHECK(stderr_line("x", LogLevel::warn, "s", true) == "<4>x: warning: s\n");
    CHECK(stderr_line("x", LogLevel::error, "s", true) == "<3>x: error: s\n");
}

TEST_CASE("the journal is known by its device and inode") {
    const Scratch place;
    const std::string path = place.write("said", "");
    const std::string other = place.write("other", "");
    const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    struct stat status {};
    REQUIRE(::fstat(fd.get(), &status) == 0);
    const std::string device = std::to_string(status.st_dev);
    const std::string own = device + ":" + std::to_string(status.st_ino);
    CHECK(is_journal(own, fd.get()));
    CHECK_FALSE(is_journal("", fd.get()));
    CHECK_FALSE(is_journal(own + "0", fd.get()));
    CHECK_FALSE(is_journal(device, fd.get()));
    CHECK_FALSE(is_journal(own, -1));
    REQUIRE(::stat(other.c_str(), &status) == 0);
    CHECK_FALSE(is_journal(device + ":" + std::to_string(status.st_ino), fd.get()));
}

TEST_CASE("what is below the least level is not written") {
    Captured log{LogLevel::warn};
    log.logger.debug("no");
    log.logger.info("no");
    log.logger.warn("yes");
    log.logger.error("yes");
    CHECK(log.lines.size() == 2);
}
