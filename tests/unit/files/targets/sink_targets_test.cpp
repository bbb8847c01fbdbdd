// Tests which targets are given up together, and in which order files get their names.
#include "tests/unit/files/scratch.h"
#include "tests/unit/files/sink/fake_target.h"

#include <catch2/catch.hpp>

namespace stage {

using test::Deeds;
using test::put_fake;
using test::said;

TEST_CASE("a target that is not optional ends the stage, by the line that asks for it") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(2);
    put_fake(
        targets, 0, "/d/a", deeds, {.target = {}, .where = "line 3"}, {.fails_to_begin = true});
    put_fake(targets, 1, "/d/b", deeds);
    CHECK(said(targets.each(&Target::begin)) == "line 3: /d/a: no");
    CHECK(deeds == Deeds{"begin /d/a"});
    REQUIRE(targets.failure());
    CHECK(targets.failure()->sentence() == "line 3: /d/a: no");
    CHECK(targets.warnings().empty());
}

TEST_CASE("an optional target only ends itself, with a warning") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(2);
    put_fake(targets,
             0,
             "/d/a",
             deeds,
             {.target = {}, .is_optional = true},
             {.fails_to_begin = true});
    put_fake(targets, 1, "/d/b", deeds);
    CHECK(said(targets.each(&Target::begin)) == "ok");
    CHECK_FALSE(targets.failure());
    CHECK(targets.warnings().size() == 1);
    CHECK(targets.path(0).empty());
    CHECK(targets.path(1) == "/d/b");
    CHECK(targets.file_count() == 1);
}

TEST_CASE("a program and its libraries are given up together, with one warning") {
    const SinkOrder program{.target = {}, .is_optional = true, .is_of_program = true};
    Deeds deeds;
    SinkTargets targets;
    targets.resize(3);
    put_fake(targets, 0, "/d/p", deeds, program);
    put_fake(targets, 1, "/d/lib", deeds, program);
    put_fake(targets, 2, "/d/other", deeds);
    CHECK(targets.give_up(1, Error{Blame::user, "gone"}).ok());
    CHECK(targets.give_up(0, Error{Blame::user, "gone, too"}).ok());
    CHECK(targets.is_given_up(0));
    CHECK_FALSE(targets.is_given_up(1));
    CHECK(targets.use(0) == nullptr);
    CHECK(targets.use(1) == nullptr);
    CHECK(targets.path(2) == "/d/other");
    CHECK(targets.warnings().size() == 1);
}

TEST_CASE("libraries get their names before programs") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(2);
    put_fake(targets, 0, "/d/p", deeds, {.target = {}, .is_of_program = true});
    put_fake(
        targets, 1, "/d/lib", deeds, {.target = {}, .is_library = true, .is_of_program = true});
    CHECK(said(targets.give_names()) == "ok");
    CHECK(deeds == Deeds{"appear /d/lib", "appear /d/p"});
}

TEST_CASE("of very many targets only the one in use stays awake") {
    Deeds deeds;
    SinkTargets targets;
    targets.resize(130);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        put_fake(targets, i, "/d/" + std::to_string(i), deeds);
    }
    CHECK(deeds == Deeds{"rest /d/128"});
    static_cast<void>(targets.use(0));
    CHECK(deeds == Deeds{"rest /d/128", "rest /d/129"});
}

}  // namespace stage
