// Variables instead of options, ~, and the options beside --stage-file.
#include "tests/unit/spank/submit_world.h"

using namespace stage;

TEST_CASE("without the option each client takes its own variable, a spec a line") {
    const SubmitWorld world;
    struct Client {
        Context context;
        const char* name;
        const char* variable;
    };
    for (const Client& client : {Client{Context::allocator, "sbatch", kSbatchDefault},
                                 Client{Context::allocator, "salloc", kSallocDefault},
                                 Client{Context::local, "srun", kSrunDefault}}) {
        FakeHost host = world.host(client.context);
        host.client_name = client.name;
        for (const char* const name : {kSbatchDefault, kSallocDefault, kSrunDefault}) {
            host.process[name] = "/not/there";
        }
        host.process[client.variable] = "a\n\nb:sub/b";
        SubmitSide side = world.side();
        REQUIRE(side.on_options_parsed(host));
        const auto specs = handed(host);
        REQUIRE(specs.size() == 2);
        CHECK(specs[1].destination == "sub/b");
        // The command line's word is stronger.
        SubmitSide other = world.side();
        host.handed.clear();
        other.on_option("b", false);
        REQUIRE(other.on_options_parsed(host));
        CHECK(handed(host).size() == 1);
    }
    FakeHost shell = world.host(Context::local);
    shell.client_name = "srun";
    shell.process["SLURM_JOB_ID"] = "7";
    shell.process[kSrunDefault] = "/not/there";
    shell.arguments = {"--interactive", "--preserve-env", "--pty", "bash"};
    SubmitSide of_shell = world.side();
    CHECK(of_shell.on_options_parsed(shell));  // salloc's own step
    FakeHost host = world.host(Context::allocator);
    host.process[kSbatchDefault] = "/not/there";
    SubmitSide side = world.side();
    const Status done = side.on_options_parsed(host);
    REQUIRE_FALSE(done);
    CHECK_THAT(done.error().sentence(), Catch::StartsWith("SBATCH_STAGE_FILE: "));
}

TEST_CASE("a ~ in front is the user's home") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    host.directory = "/";
    host.process["HOME"] = world.directory;
    SubmitSide side = world.side();
    side.on_option("~/a", false);
    side.on_option("~/b:~/copy:late", false);
    REQUIRE(side.on_options_parsed(host));
    const auto specs = handed(host);
    CHECK(specs.at(0).source == world.directory + "/a");
    CHECK(specs.at(1).destination == world.directory + "/copy");
}

TEST_CASE("the umask of the submission travels: Slurm's variable, or the process' own") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    host.process["SLURM_UMASK"] = "0077";
    SubmitSide side = world.side();
    side.on_option("a", false);
    REQUIRE(side.on_options_parsed(host));
    CHECK(options_in(host.handed.at(kHandedName)).umask == 077);
    for (const char* const none : {"", "abc", "1777"}) {
        host.process["SLURM_UMASK"] = none;
        const mode_t before = ::umask(027);
        side.on_option("a", false);
        REQUIRE(side.on_options_parsed(host));
        ::umask(before);
        CHECK(options_in(host.handed.at(kHandedName)).umask == 027);
    }
}

TEST_CASE("a job may ask to go on without a failed node where the site lets it") {
    const SubmitWorld world;
    FakeHost strict = world.host(Context::allocator);
    SubmitSide refused = world.side();
    refused.on_option("a", false);
    refused.on_no_kill();
    CHECK_THAT(refusal(refused, strict), Catch::Contains("OnNodeFault=drop"));

    std::ofstream{world.directory + "/stagecast.conf"} << "OnNodeFault=drop\n";
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("a", false);
    side.on_no_kill();
    REQUIRE(side.on_options_parsed(host));
    CHECK(options_in(host.handed.at(kHandedName)).is_no_kill);
    FakeHost other = world.host(Context::allocator);
    SubmitSide plain = world.side();
    plain.on_option("a", false);
    REQUIRE(plain.on_options_parsed(other));
    CHECK_FALSE(options_in(other.handed.at(kHandedName)).is_no_kill);
}

TEST_CASE("a job may give up sooner than the site, and get a report") {
    const SubmitWorld world;
    std::ofstream{world.directory + "/stagecast.conf"} << "StageTimeout=100\n";
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("a", false);
    side.on_timeout("3h");
    side.on_timeout("1m");
    side.on_verbose();
    REQUIRE(side.on_options_parsed(host));
    CHECK(options_in(host.handed.at(kHandedName)) ==
          StageOptions{.timeout_s = 60, .is_verbose = true});
    side.on_option("a", false);
    side.on_timeout("1:01");
    REQUIRE(side.on_options_parsed(host));
    CHECK(options_in(host.handed.at(kHandedName)).timeout_s == 61);
    for (const char* const wrong : {"", "0", "-1", "soon", "1d", "60", "101s", "1 000"}) {
        CAPTURE(wrong);
        FakeHost other = world.host(Context::allocator);
        SubmitSide refused = world.side();
        refused.on_option("a", false);
        refused.on_timeout(wrong);
        if (*wrong != '\0') {
            CHECK_FALSE(refusal(refused, other, "--stage-timeout=").empty());
        }
    }
    // Without files they say nothing.
    FakeHost idle = world.host(Context::allocator);
    SubmitSide nothing = world.side();
    nothing.on_timeout("nonsense");
    nothing.on_verbose();
    CHECK(nothing.on_options_parsed(idle));
    CHECK(idle.handed.empty());
}
