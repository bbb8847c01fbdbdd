// Tests that patterns in names have sbatch's meaning.
#include "stager/spec/name_pattern.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

const NameValues kValues{
    .job_id = 42, .array_job_id = 40, .array_task_id = 7, .node = 3, .user = [] {
        return std::optional<std::string>{"alice"};
    }};

std::string destination(const std::string& name, const NameValues& values = kValues) {
    const auto spec = expanded({.source = "/in", .destination = name}, values);
    return spec ? spec->destination : spec.error().sentence();
}

}  // namespace

TEST_CASE("a pattern has its value") {
    CHECK(destination("%j-%A-%a-%u-%n") == "42-40-7-alice-3");
    CHECK(destination("/tmp/%u/x") == "/tmp/alice/x");
    CHECK(destination("%4a.%04j") == "0007.0042");
    CHECK(destination("100%%") == "100%");
    CHECK(destination("%%j") == "%j");
    CHECK(expanded({.source = "/in.%a"}, kValues)->source == "/in.7");
}

TEST_CASE("any other percent sign is itself, as Slurm has it") {
    for (const char* const name : {"100%", "%x", "%", "a%-b", "%4", "%4x", "%20%"}) {
        CHECK(destination(name) == name);
        CHECK_FALSE(has_value_pattern(name));
    }
    CHECK(has_pattern("%%"));
    CHECK_FALSE(has_value_pattern("%%"));
    CHECK(has_value_pattern("x%3a"));
    CHECK(has_array_pattern("%A"));
    CHECK_FALSE(has_array_pattern("%j%%a"));
}

TEST_CASE("a name that was not written as a pattern is kept") {
    for (const char* const name :
         {"/run%j", "/100%", "/%%j", "/%%%j", "/%4a%%", "/%u/%n", "/plain", "/%x", "/%"}) {
        CHECK(destination(literal_name(name)) == name);
    }
    CHECK(literal_name("/100%/x") == "/100%/x");
    CHECK(destination(literal_name("/run%j") + "/in.%a") == "/run%j/in.7");
}

TEST_CASE("without an array, %A is the job's number and %a an error") {
    const NameValues alone{.job_id = 42};
    CHECK(destination("%A", alone) == "42");
    CHECK_THAT(destination("x%a", alone),
               Catch::StartsWith("x%a: %a, the number of an array's"));
    CHECK_THAT(destination("%u", alone), Catch::Contains("does not know the user's name"));
}

TEST_CASE("an impossible destination is refused") {
    const NameValues bad{.user = [] { return std::optional<std::string>{".."}; }};
    CHECK_THAT(destination("a/%u/b", bad), Catch::Contains("goes up by '..'"));
}

TEST_CASE("a variable in a destination, and %n in a source, are refused") {
    const auto objection = [](const StageSpec& spec) {
        const Status sound = check_patterns(spec);
        return sound ? std::string{} : sound.error().sentence();
    };
    CHECK_THAT(objection({.source = "/a", .destination = "/tmp/$USER/x"}),
               Catch::Contains("nothing expands $USER here; write its value, or %u"));
    CHECK_THAT(objection({.source = "/a", .destination = "/tmp/${TMPDIR}x"}),
               Catch::Contains("${TMPDIR}"));
    CHECK_THAT(objection({.source = "/a.%n"}), Catch::Contains("%n, the node's number"));
    CHECK(objection({.source = "/a.$USER", .destination = "x.%n"}).empty());
    CHECK(objection({.source = "/a", .destination = "5$"}).empty());
    CHECK(objection({.source = "/a", .destination = "a$-$1"}).empty());
    CHECK(variable_in("/x/$HOME/y") == "$HOME");
}
