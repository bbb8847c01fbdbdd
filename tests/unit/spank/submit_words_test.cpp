// Tests that the client's own options are separated from its program's, and that names are
// parsed as meant.
#include "tests/unit/spank/submit_world.h"

using namespace stage;

TEST_CASE("a program's own arguments are not the client's") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    host.client_name = "srun";
    SubmitSide side = world.side();
    SECTION("--jobid makes no step of a job") {
        host.arguments =
            GENERATE(std::vector<std::string>{"-l", "prog", "--jobid=7"},
                     std::vector<std::string>{"-u", "prog", "--jobid", "7"},
                     std::vector<std::string>{"--overlap", "prog", "--jobid=7"},
                     std::vector<std::string>{"--unbuf", "--", "prog", "--jobid=7"},
                     std::vector<std::string>{"-lu", "prog", "-M", "far"});
        side.on_option("a", false);
        REQUIRE(side.on_options_parsed(host));
        CHECK(handed(host).size() == 1);
        CHECK(host.notices.empty());
    }
    SECTION("nor one of another job") {
        host.arguments = {"-u", "python3", "-u", "train.py", "--jobid", "6"};
        host.process = {{"SLURM_JOB_ID", "7"}, {kJobSign, "1;-,/x,"}, {kStageDir, "/stage/7"}};
        REQUIRE(side.on_options_parsed(host));
        CHECK(host.process[kJobSign] == "1;-,/x,");
        CHECK(host.process.contains(kStageDir));
    }
    SECTION("--interactive is no shell of salloc's") {
        host.arguments = {"-u", "prog", "--interactive"};
        host.process[kSrunDefault] = "a";
        REQUIRE(side.on_options_parsed(host));
        CHECK(handed(host).size() == 1);
    }
    SECTION("but srun's options are found wherever they are") {
        host.arguments = GENERATE(std::vector<std::string>{"-lN", "2", "--jobid=7", "prog"},
                                  std::vector<std::string>{"-uJ", "x", "--jobi", "7", "prog"});
        side.on_option("a", false);
        REQUIRE(side.on_options_parsed(host));
        CHECK(host.handed.empty());
        CHECK(host.process.contains(kStepSpecs));
    }
}

TEST_CASE("each component's options are its own") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    host.arguments = {"-l", "one", "--jobid=7", ":", "-u", "two", "--jobid=8"};
    SubmitSide side = world.side();
    for (const std::size_t first : {0U, 4U}) {
        host.component_at = first;
        host.handed.clear();
        side.on_option("a", false);
        REQUIRE(side.on_options_parsed(host));
        CHECK(handed(host).size() == 1);
        CHECK_FALSE(host.process.contains(kStepSpecs));
    }
}

TEST_CASE("of names only nodes know nothing is looked for, and variables are refused") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    SECTION("a pattern") {
        side.on_option("in.%a.dat:/tmp/in-%j.dat", false);
        REQUIRE(side.on_options_parsed(host));
        CHECK(handed(host).at(0).destination == "/tmp/in-%j.dat");
    }
    SECTION("a pattern that may be a name") {
        world.scratch.write("50%user", "");
        side.on_option("50%user", false);
        CHECK_THAT(refusal(side, host), Catch::Contains("write %% for a percent sign"));
    }
    SECTION("a percent sign") {
        world.scratch.write("50%user", "");
        side.on_option("50%%user", false);
        CHECK(side.on_options_parsed(host));
    }
    SECTION("a percent sign of nothing") {
        side.on_option("50%%nothing", false);
        CHECK_THAT(refusal(side, host), Catch::Contains("50%nothing: No such file"));
    }
    SECTION("a variable in DST") {
        side.on_option("a:/tmp/$USER/a", false);
        CHECK_THAT(refusal(side, host), Catch::Contains("nothing expands $USER here"));
    }
    SECTION("a variable in SRC") {
        side.on_option(GENERATE("$HOME/x", "$HOME/x::late", "$HOME/x::optional"), false);
        CHECK_THAT(refusal(side, host), Catch::Contains("nothing expands $HOME here"));
    }
    SECTION("a dollar in a name that is there") {
        world.scratch.write("$x", "");
        side.on_option("$x", false);
        CHECK(side.on_options_parsed(host));
    }
    SECTION("what a shell would have expanded, or is no list") {
        const auto [option, why] = GENERATE(
            table<const char*, const char*>({{"shard-{00..09}.tar", "nothing expands braces"},
                                             {"a{b,c}", "nothing expands braces"},
                                             {"~bob/x", "nothing expands ~USER"},
                                             {"a,b", "one option names one file"},
                                             {"a b", "one option names one file"},
                                             {"@-", "can't be the standard input"},
                                             {"out.%t", "only %j, %A, %a and %u"},
                                             {"out.%3x", "only %j, %A, %a and %u"},
                                             {"a{b}", "write SRC::late"}}));
        side.on_option(option, false);
        CHECK_THAT(refusal(side, host), Catch::Contains(why));
    }
    SECTION("wildcards that nothing matches") {
        side.on_option("*.dat", false);
        CHECK_THAT(refusal(side, host),
                   Catch::Contains("No such file") && Catch::Contains("no file matches"));
    }
    SECTION("wildcards with one name for several files") {
        world.scratch.write("x1", "");
        world.scratch.write("x2", "");
        side.on_option("x*:y", false);
        CHECK_THAT(refusal(side, host), Catch::Contains("2 files match, and all would be"));
    }
    SECTION("wildcards with what only nodes know") {
        side.on_option("x%j*", false);
        CHECK_THAT(refusal(side, host),
                   Catch::Contains("wildcards are expanded at submission"));
    }
}

TEST_CASE("wildcards stand for the files that match, sorted, with all that the spec says") {
    SubmitWorld world;
    world.scratch.directory("in[1]", 0755);
    for (const std::string name : {"b.h5", "a.h5", "50%j.h5", "c.dat"}) {
        world.scratch.write("in[1]/" + name, "");
    }
    FakeHost host = world.host(Context::allocator);
    host.directory = world.directory + "/in[1]";
    SubmitSide side = world.side();
    SECTION("a word of them") {
        side.on_option("*.h5:to/:temp", false);
        REQUIRE(side.on_options_parsed(host));
        const auto specs = handed(host);
        REQUIRE(specs.size() == 3);
        CHECK(specs[0].source == host.directory + "/50%%j.h5");
        CHECK(specs[1].source == host.directory + "/a.h5");
        CHECK(specs[2].source == host.directory + "/b.h5");
        for (const StageSpec& spec : specs) {
            CHECK(spec.destination == "to/");
            CHECK(spec.is_temporary);
        }
    }
    SECTION("one file, whose copy has another name; a set; a question mark") {
        side.on_option(GENERATE("c*:other", "[c-d].dat:other", "./?.dat:other"), false);
        REQUIRE(side.on_options_parsed(host));
        REQUIRE(handed(host).size() == 1);
        CHECK(handed(host)[0].source == host.directory + "/c.dat");
        CHECK(handed(host)[0].destination == "other");
    }
    SECTION("in a directory's name, behind ~") {
        host.process["HOME"] = world.directory;
        side.on_option("~/in*/a.h5", false);
        REQUIRE(side.on_options_parsed(host));
        CHECK(handed(host).at(0).source == world.directory + "/in[1]/a.h5");
    }
    SECTION("a file of that very name, which is meant") {
        world.scratch.write("in[1]/a*", "");
        world.scratch.write("in[1]/ab", "");
        side.on_option("a*", false);
        REQUIRE(side.on_options_parsed(host));
        REQUIRE(handed(host).size() == 1);
        CHECK(handed(host)[0].source == host.directory + "/a*");
    }
    SECTION("a directory's own signs, which are none") {
        side.on_option("*", false);
        REQUIRE(side.on_options_parsed(host));
        CHECK(handed(host).size() == 4);
    }
}

TEST_CASE("a name is found after a script's line has changed it") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option(GENERATE("with:colon", "with\\:colon"), false);
    REQUIRE(side.on_options_parsed(host));
    CHECK(handed(host).at(0).source == world.directory + "/with:colon");
}

TEST_CASE("the same file asked for twice is one") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("a", false);
    side.on_option("./a:a", false);
    REQUIRE(side.on_options_parsed(host));
    CHECK(handed(host).size() == 1);
}
