#include "stager/spec/stage_spec.h"

#include "stager/spec/destination.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace stage;

namespace {

StageSpec parsed(std::string_view text) {
    const auto spec = parse_spec(text);
    INFO(text);
    REQUIRE(spec);
    return *spec;
}

std::string refusal_of_spec(std::string_view text) {
    const auto spec = parse_spec(text);
    INFO(text);
    REQUIRE_FALSE(spec);
    CHECK(spec.error().blame() == Blame::user);
    CHECK(spec.error().sentence().size() < 700);
    return spec.error().sentence();
}

}  // namespace

TEST_CASE("a spec is a source, a destination and flags") {
    CHECK(parsed("in.dat") == StageSpec{.source = "in.dat", .destination = ""});
    CHECK(parsed("in.dat:sub/x").destination == "sub/x");
    CHECK(parsed("in.dat:").destination.empty());
    const StageSpec all = parsed("/a/b:/c/d:newer+optional+temp+durable+late");
    CHECK(all.source == "/a/b");
    CHECK(all.destination == "/c/d");
    CHECK(all.existing == Existing::newer);
    CHECK(all.is_optional);
    CHECK(all.is_temporary);
    CHECK(all.is_durable);
    CHECK(all.is_late);
    CHECK(parsed("a::keep").existing == Existing::keep);
    CHECK(parsed("a::overwrite").existing == Existing::overwrite);
    CHECK(parsed("a::keep+keep").existing == Existing::keep);
}

TEST_CASE("a backslash makes a colon part of a name, and nothing else special") {
    CHECK(parsed("a\\:b").source == "a:b");
    CHECK(parsed("a\\\\:b").source == "a\\");
    CHECK(parsed("a\\\\:b").destination == "b");
    CHECK(parsed("a\\n").source == "a\\n");
    CHECK(parsed("a\\").source == "a\\");
    CHECK(parsed("a\nb").source == "a\nb");
}

TEST_CASE("a list is named with an at sign") {
    const StageSpec list = parsed("@/home/u/list.txt::optional+late");
    CHECK(list.is_list);
    CHECK(list.source == "/home/u/list.txt");
    CHECK(list.is_optional);
    CHECK_FALSE(parsed("./@file").is_list);
    CHECK_THAT(refusal_of_spec("@list:dst"), Catch::Contains("takes no destination"));
    CHECK_THAT(refusal_of_spec("@list::keep"),
               Catch::Contains("only the flags optional and late"));
    CHECK_THAT(refusal_of_spec("@"), Catch::Contains("name is missing"));
}

TEST_CASE("a mistake is reported with its position and a remedy") {
    CHECK_THAT(refusal_of_spec(""), Catch::Contains("the source is missing"));
    CHECK_THAT(refusal_of_spec(":x"), Catch::Contains("character 1: the source is missing"));
    CHECK_THAT(refusal_of_spec("in.dat:x:bogus"),
               Catch::Contains("character 10: no such flag"));
    CHECK_THAT(refusal_of_spec("in.dat:x:late+bogus"),
               Catch::Contains("character 15: no such flag"));
    CHECK_THAT(refusal_of_spec("a::late+"), Catch::Contains("character 9: a flag is missing"));
    CHECK_THAT(refusal_of_spec("a::"), Catch::Contains("a flag is missing"));
    CHECK_THAT(refusal_of_spec("a:b:late:c:d"),
               Catch::Contains("character 9: one colon too many"));
    CHECK_THAT(refusal_of_spec("a::keep+newer"), Catch::Contains("exclude each other"));
    CHECK(parsed("a::libs").is_with_libraries);
    CHECK_THAT(refusal_of_spec("a::libs+extract"), Catch::Contains("exclude each other"));
    CHECK(parsed("a.tar::extract+overwrite").is_unpacked);
    CHECK_THAT(refusal_of_spec("@list::extract"), Catch::Contains("takes no destination"));
}

TEST_CASE("a colon or a backslash belongs to the name of a file that is there") {
    const auto found = [](std::string_view text, const std::vector<std::string>& files) {
        const auto spec = parse_spec(text, [&](const std::string& name) {
            return std::ranges::find(files, name) != files.end();
        });
        return spec ? spec->source + "|" + spec->destination : spec.error().sentence();
    };
    CHECK(found("run-12:30.dat", {"run-12:30.dat"}) == "run-12:30.dat|");
    CHECK(found("run-12:30.dat:x", {"run-12:30.dat"}) == "run-12:30.dat|x");
    CHECK(found("1:2:3:4:x:temp", {"1:2:3:4"}) == "1:2:3:4|x");
    CHECK(found("two\\\\slash:x", {"two\\\\slash"}) == "two\\\\slash|x");
    CHECK(found("@l:1::late", {"l:1"}) == "l:1|");
    // What the text says comes first.
    CHECK(found("a:b", {"a", "a:b"}) == "a|b");
    CHECK(found("a\\:b", {"a:b", "a\\"}) == "a:b|");
    CHECK(found("a:b", {}) == "a|b");
    CHECK_THAT(found("a:b:c:d", {}), Catch::Contains("one colon too many"));
}

TEST_CASE("a word before two slashes is a scheme only if there is such a one") {
    const StageSpec spec = parsed("one://tmp/x:temp");
    CHECK(spec.source == "one");
    CHECK(destination_of(spec)->path == "/tmp/x");
    CHECK_THAT(refusal_of_spec("HTTPS://host/file"), Catch::Contains("not supported yet"));
}

TEST_CASE("a scheme is taken whole and refused") {
    CHECK_THAT(refusal_of_spec("https://host/file:x"),
               Catch::Contains("https:// is not supported yet"));
    CHECK_THAT(refusal_of_spec("://x"), Catch::Contains("the source is missing"));
    CHECK(parsed("a/b://x").source == "a/b");
}

TEST_CASE("hostile text is refused in one printable line of bounded length") {
    const std::string huge(200'000, 'x');
    CHECK_THAT(refusal_of_spec(huge), Catch::Contains("longer than 4095 bytes"));
    CHECK_THAT(refusal_of_spec("a:" + huge), Catch::Contains("longer than"));
    CHECK_THAT(refusal_of_spec(std::string(200'000, ':')),
               Catch::Contains("one colon too many"));
    const std::string shown = refusal_of_spec("a\n\x1b[31m:b:c:d");
    CHECK_THAT(shown, Catch::Contains("a\\n\\x1b[31m"));
    CHECK(shown.find('\n') == std::string::npos);
    CHECK_THAT(refusal_of_spec(std::string("a\0b", 3)), Catch::Contains("zero byte"));
}

TEST_CASE("a relative source is put below a directory") {
    const auto put = [](const char* source) {
        return made_absolute(StageSpec{.source = source, .destination = ""}, "/home/u").source;
    };
    CHECK(put("in.dat") == "/home/u/in.dat");
    CHECK(put("./././in.dat") == "/home/u/in.dat");
    CHECK(put("../in.dat") == "/home/u/../in.dat");
    CHECK(put("/abs") == "/abs");
    CHECK(made_absolute(StageSpec{.source = "x", .destination = ""}, "/").source == "/x");
}

TEST_CASE("a directory's flags: exclude=, follow, no-devices") {
    using Patterns = std::vector<std::string>;
    const auto spec = parse_spec("a::exclude=*.log+follow+exclude=/b/+no-devices+temp");
    REQUIRE(spec);
    CHECK(spec->excludes == Patterns{"*.log", "/b/"});
    CHECK(spec->is_following);
    CHECK(spec->skips_devices);
    CHECK(spec->is_temporary);
    CHECK(parse_spec("a::exclude=x\\+y\\:z+late")->excludes == Patterns{"x\\+y:z"});
    CHECK(parse_spec("a::exclude=\\*+late")->excludes == Patterns{"\\*"});
    const auto refusal_of_spec = [](const char* text) {
        const auto wrong = parse_spec(text);
        return wrong ? std::string{"ok"} : wrong.error().sentence();
    };
    CHECK_THAT(refusal_of_spec("a::exclude="), Catch::Contains("exclude= needs a pattern"));
    CHECK_THAT(refusal_of_spec("a::exclude"), Catch::Contains("exclude=PATTERN"));
    CHECK_THAT(refusal_of_spec("a.tar::extract+exclude=x"),
               Catch::Contains("are for directories"));
    CHECK_THAT(refusal_of_spec("a::libs+no-devices"), Catch::Contains("are for directories"));
    CHECK(refusal_of_spec("a.tar::extract+no-devices") == "ok");
    CHECK_THAT(refusal_of_spec("@list::exclude=x"),
               Catch::Contains("a list takes no destination"));
    std::string many = "a::late";
    for (std::size_t i = 0; i < 65; ++i) {
        many += "+exclude=x";
    }
    CHECK_THAT(refusal_of_spec(many.c_str()), Catch::Contains("more than 64"));
}

TEST_CASE("a file of another cluster has that cluster's name and an absolute path") {
    const StageSpec spec = parsed("cluster://siteA/data/x.h5:sub/:temp+extract");
    CHECK(spec.cluster == "siteA");
    CHECK(spec.source == "/data/x.h5");
    CHECK(spec.destination == "sub/");
    CHECK(spec.is_temporary);
    CHECK(spec.is_unpacked);
    CHECK(parsed("/data/x.h5").cluster.empty());
    CHECK(parsed("a/cluster://x").cluster.empty());
    const auto anything = [](const std::string&) { return true; };
    const auto looked_up = parse_spec("cluster://siteA/data/x.h5", anything);
    REQUIRE(looked_up);
    CHECK(looked_up->cluster == "siteA");
}

TEST_CASE("what can't be a file of another cluster is refused with the reason") {
    for (const char* const text :
         {"cluster://", "cluster://a", "cluster:///data", "cluster://a b/x"}) {
        CHECK_THAT(refusal_of_spec(text), Catch::Contains("write cluster://CLUSTER/PATH"));
    }
    for (const char* const text : {"cluster://a//x", "cluster://a/../x", "cluster://a/x/./y"}) {
        CHECK_THAT(refusal_of_spec(text), Catch::Contains("without //, . and .."));
    }
    for (const char* const text : {"cluster://a/x%j", "cluster://a/*.h5", "cluster://a/x?"}) {
        CHECK_THAT(refusal_of_spec(text), Catch::Contains("nothing here can expand them"));
    }
    CHECK(parsed("cluster://a/dir/").source == "/dir");
    CHECK_THAT(refusal_of_spec("cluster://a/x::libs"), Catch::Contains("libs is for"));
    CHECK_THAT(refusal_of_spec("cluster://a/x::bogus"), Catch::Contains("no such flag"));
}

TEST_CASE("a plain path has one way to be written") {
    for (const char* const path : {"/a", "/a/b.c", "/...", "/a b", "/.a"}) {
        CHECK(is_plain_path(path));
    }
    for (const char* const path :
         {"", "/", "a", "/a/", "//a", "/a//b", "/.", "/a/..", "/a/./b"}) {
        INFO(path);
        CHECK_FALSE(is_plain_path(path));
    }
    CHECK_FALSE(is_plain_path(std::string{"/a\0b", 4}));
    CHECK_FALSE(is_plain_path('/' + std::string(5000, 'x')));
}
