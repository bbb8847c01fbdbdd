// Is it noticed when a task looks into another directory than the one that was staged into?
#include "spank/visibility.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace stage {

TEST_CASE(
    "a directory that is another one in the task is an objection, an unknown one is not") {
    std::string pattern = std::filesystem::temp_directory_path() / "stagecast-XXXXXX";
    const std::filesystem::path top = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(top / "there");
    Verdict verdict;
    verdict.paths = {(top / "there" / "file").string(), (top / "absent" / "file").string(), ""};
    Visibility visibility;
    CHECK_FALSE(visibility.objection());
    visibility.remember(verdict);
    CHECK_FALSE(visibility.objection());

    std::filesystem::create_directory(top / "absent");
    CHECK_FALSE(visibility.objection());

    std::filesystem::create_directory(top / "other");
    std::filesystem::rename(top / "there", top / "before");
    REQUIRE(visibility.objection());
    CHECK_THAT(*visibility.objection(), Catch::StartsWith((top / "there").string() + ": "));
    std::filesystem::rename(top / "other", top / "there");
    CHECK_THAT(visibility.objection().value_or(""), Catch::Contains("$STAGECAST_DIR"));
    std::filesystem::remove_all(top);
}

}  // namespace stage
