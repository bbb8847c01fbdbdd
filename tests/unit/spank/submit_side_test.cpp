#include "tests/unit/spank/submit_world.h"

using namespace stage;

TEST_CASE("without the option a client does nothing and asks no daemon") {
    const SubmitWorld world;
    for (const Context context : {Context::local, Context::allocator}) {
        FakeHost host = world.host(context);
        SubmitSide side = world.side();
        CHECK(side.on_options_parsed(host));
        CHECK(host.handed.empty());
        CHECK(host.process == world.host(context).process);
        CHECK(host.facts_asked == 0);
    }
}

TEST_CASE("all occurrences are handed to the prolog, absolute") {
    const SubmitWorld world;
    for (const Context context : {Context::local, Context::allocator}) {
        FakeHost host = world.host(context);
        SubmitSide side = world.side();
        side.on_option("a", false);
        side.on_option("./b:sub/b:durable", false);
        side.on_option(world.directory + "/link", false);
        REQUIRE(side.on_options_parsed(host));
        const auto specs = handed(host);
        REQUIRE(specs.size() == 3);
        CHECK(specs[0].source == world.directory + "/a");
        CHECK(specs[1].source == world.directory + "/b");
        CHECK(specs[1].is_durable);
        CHECK(specs[2].source == world.directory + "/link");
        // A job made by srun has no SLURM_SPANK_* from Slurm: its tasks get the sign from us.
        CHECK(host.process.contains(kJobSign) == (context == Context::local));
        CHECK_FALSE(side.is_pending());
    }
}

TEST_CASE("impossible requests are refused before submission") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    const auto refused = [&](std::string_view value) {
        side.on_option(value, false);
        return refusal(side, host);
    };
    CHECK_THAT(refused("nope"), Catch::Contains("No such file") && Catch::Contains("::late"));
    CHECK_THAT(refused("@dir"), Catch::Contains("is a directory"));
    CHECK_THAT(refused("fifo"), Catch::Contains("not a regular file"));
    CHECK_THAT(refused("/dev/null"), Catch::Contains("not a regular file"));
    CHECK_THAT(refused("a::bogus"), Catch::Contains("character 4"));
    CHECK_THAT(refused("with:colon:x:y"), Catch::Contains("one colon too many"));
    CHECK_THAT(refused(std::string(200'000, 'x')), Catch::Contains("4095"));
    host.facts->private_tmp = true;  // Lists are read then; this one stays empty.
    CHECK_THAT(refused("@fifo"), Catch::Contains("not a regular file"));
}

TEST_CASE("libraries are not looked for with half of a search path") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    host.process["LD_LIBRARY_PATH"] = '/' + std::string(kMaxLibraryPathBytes, 'x');
    SubmitSide side = world.side();
    side.on_option("a", false);
    REQUIRE(side.on_options_parsed(host));
    host.handed.clear();
    side.on_option("a::libs", false);
    CHECK_THAT(refusal(side, host), Catch::Contains("LD_LIBRARY_PATH has 8193 bytes"));
}

TEST_CASE("an unreadable source is refused to a user that cannot read it") {
    const SubmitWorld world;
    std::filesystem::permissions(world.directory + "/a", std::filesystem::perms::none);
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("a", false);
    if (::geteuid() == 0) {
        CHECK(side.on_options_parsed(host));
    } else {
        CHECK_THAT(refusal(side, host), Catch::Contains("Permission denied"));
    }
}

TEST_CASE("a late source need not be there, an optional one is only missed aloud") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("nope::late", false);
    side.on_option("nope:other:optional", false);
    REQUIRE(side.on_options_parsed(host));
    CHECK(handed(host).size() == 2);
    REQUIRE(host.notices.size() == 1);
    CHECK_THAT(host.notices[0], Catch::Contains("No such file"));
}

TEST_CASE("200 KB of specs are refused with one sentence, however many they are") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    SECTION("as many") {
        for (int i = 0; i < 20'000; ++i) {
            side.on_option("a:" + std::to_string(i), false);
        }
        CHECK_THAT(refusal(side, host), Catch::Contains("exceed the limit"));
    }
    SECTION("as long ones") {
        for (int i = 0; i < 200; ++i) {
            side.on_option("a:" + std::string(200, 'd') + "/" + std::string(200, 'd') + "/" +
                               std::string(200, 'd') + "/" + std::string(200, 'd') + "/" +
                               std::to_string(i),
                           false);
        }
        CHECK_THAT(refusal(side, host), Catch::Contains("at most 32768"));
    }
}

TEST_CASE("prologs must run at allocation, and not one after the other") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("a", false);
    host.facts = ClusterFacts{.name = "lab", .prolog_at_allocation = false};
    CHECK_THAT(refusal(side, host), Catch::Contains("PrologFlags=Alloc"));
    side.on_option("a", false);
    host.facts =
        ClusterFacts{.name = "lab", .prolog_at_allocation = true, .prolog_serial = true};
    CHECK_THAT(refusal(side, host), Catch::Contains("Serial"));
    side.on_option("a", false);
    host.facts =
        ClusterFacts{.name = "lab", .prolog_at_allocation = true, .prolog_in_job = true};
    CHECK_THAT(refusal(side, host), Catch::Contains("RunInJob"));
    side.on_option("a", false);
    host.facts = std::nullopt;  // slurmctld does not answer: submitting will say so
    CHECK(side.on_options_parsed(host));
}

TEST_CASE("where jobs have a /tmp of their own, nothing is staged into the node's") {
    const SubmitWorld world;
    for (const std::string place : {"/tmp", "/tmp/", "/tmp/d/x", "/dev/shm/x"}) {
        CAPTURE(place);
        FakeHost host = world.host(Context::allocator);
        host.facts->private_tmp = true;
        SubmitSide side = world.side();
        side.on_option("a:" + place, false);
        const std::string said = refusal(side, host);
        CHECK_THAT(said, Catch::Contains("of its own"));
        CHECK_THAT(said, Catch::Contains("$STAGECAST_DIR"));
    }
    for (const std::string place : {"", ":/tmpfile", ":/var/tmp/x", ":tmp/x"}) {
        CAPTURE(place);
        FakeHost host = world.host(Context::allocator);
        host.facts->private_tmp = true;
        SubmitSide side = world.side();
        side.on_option("a" + place, false);
        CHECK(side.on_options_parsed(host));
    }
    std::ofstream{world.directory + "/list"} << "# two\na\nb:/tmp/b\n";
    for (const std::string spec : {"a:/tmp/x", "@list"}) {
        CAPTURE(spec);
        FakeHost host = world.host(Context::allocator);
        SubmitSide side = world.side();
        side.on_option(spec, false);
        CHECK(side.on_options_parsed(host));
        host.handed.clear();
        host.facts->private_tmp = true;
        side.on_option(spec, false);
        CHECK_THAT(refusal(side, host), Catch::Contains("/tmp of its own"));
    }
}

TEST_CASE("a job at a site with Enabled=no gets an error") {
    const SubmitWorld world;
    std::ofstream{world.directory + "/stagecast.conf"} << "# off\nEnabled = no\n";
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("a", false);
    CHECK_THAT(refusal(side, host), Catch::Contains("switched off"));
}

TEST_CASE("paths for another cluster are not checked here, with a notice") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    SECTION("-M x") {
        host.arguments = {"-N", "2", "-M", "far", "job.sh"};
    }
    SECTION("-Mx") {
        host.arguments = {"-Mfar", "job.sh"};
    }
    SECTION("--clusters=x") {
        host.arguments = {"--clusters=far", "job.sh"};
    }
    SECTION("from the environment") {
        host.process["SBATCH_CLUSTERS"] = "far";
    }
    SECTION("in the script") {
        world.scratch.write("job.sh",
                            "#!/bin/sh\n# a job\n\n#SBATCH -N2 " +
                                std::string{GENERATE("-M far",
                                                     "-Mfar",
                                                     "--clusters=far",
                                                     "--clusters far -n 4",
                                                     "--clusters=\"far\"")} +
                                "\nsrun true\n");
        host.arguments = GENERATE(std::vector<std::string>{"job.sh", "-M", "other"},
                                  std::vector<std::string>{"-N", "2", "job.sh"},
                                  std::vector<std::string>{"--hold", "job.sh", "x"});
    }
    host.facts->prolog_at_allocation = false;  // ours has no say
    side.on_option("nope", false);
    REQUIRE(side.on_options_parsed(host));
    CHECK(handed(host)[0].source == world.directory + "/nope");
    REQUIRE(host.notices.size() == 1);
    CHECK_THAT(host.notices[0], Catch::Contains("cluster far"));
}

TEST_CASE("-M of our own cluster, or of the job's program, is nothing special") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    SECTION("ours") {
        host.arguments = {"-M", "lab", "job.sh"};
    }
    SECTION("the script's") {
        host.arguments = {"-N", "2", "job.sh", "-M", "far"};
    }
    SECTION("the script's, and no option before it") {
        host.arguments = {"job.sh", "-M", "far"};
    }
    SECTION("the script's, after an option that has its value") {
        host.arguments = {GENERATE("-N2", "--nodes=2"), "job.sh", "-M", "far"};
    }
    SECTION("where the script has begun") {
        world.scratch.write("job.sh", "#!/bin/sh\nsrun true\n#SBATCH -M far\n");
        host.arguments = {"job.sh"};
    }
    SECTION("of a file that is no script") {
        world.scratch.write("job.sh", "#SBATCH -M far\n");
        host.arguments = {"job.sh"};
    }
    SECTION("in the script, with our cluster on the command line") {
        world.scratch.write("job.sh", "#!/bin/sh\n#SBATCH -M far\n");
        host.arguments = {"-M", "lab", "job.sh"};
    }
    side.on_option("nope", false);
    CHECK_THAT(refusal(side, host), Catch::Contains("No such file"));
}

TEST_CASE("a step inside a job keeps its own files to itself") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    SubmitSide side = world.side();
    SECTION("srun in a job") {
        host.process["SLURM_JOB_ID"] = "7";
    }
    SECTION("srun --jobid") {
        host.arguments = {"--jobid=7", "-N1", "hostname"};
    }
    host.facts->prolog_at_allocation = false;  // a step has no prolog
    side.on_option("a", false);
    REQUIRE(side.on_options_parsed(host));
    CHECK(host.handed.empty());
    REQUIRE(host.process.contains(kStepSpecs));
    CHECK(parse_serialized(host.process[kStepSpecs])->at(0).source == world.directory + "/a");
    CHECK(host.facts_asked == 0);
}

TEST_CASE("an inherited option stages nothing again") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    host.process = {{"SLURM_JOB_ID", "7"}, {kJobSign, "1;-,/x,"}};
    SubmitSide side = world.side();
    SECTION("in a step") {
        side.on_option("a", true);
        REQUIRE(side.on_options_parsed(host));
        CHECK(host.handed.empty());
        CHECK_FALSE(host.process.contains(kStepSpecs));
        CHECK(host.process[kJobSign] == "1;-,/x,");
    }
    SECTION("but the step's own does, though it be the same") {
        side.on_option("a", true);
        side.on_option("a", true);
        REQUIRE(side.on_options_parsed(host));
        CHECK(parse_serialized(host.process[kStepSpecs])->size() == 1);
    }
}

TEST_CASE("a job submitted inside a job with files stages only its own") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    host.process = {{"SLURM_JOB_ID", "7"}, {kJobSign, "1;-,/x,"}, {kStageDir, "/stage/7"}};
    SubmitSide side = world.side();
    side.on_option("x", true);
    SECTION("nothing") {
        REQUIRE(side.on_options_parsed(host));
        CHECK(host.handed[kHandedName] == kNothing);
        CHECK(host.process[kJobSign] == kNothing);
        CHECK_FALSE(host.process.contains(kStageDir));
    }
    SECTION("something") {
        side.on_option("a", true);
        REQUIRE(side.on_options_parsed(host));
        CHECK(handed(host).size() == 1);
        CHECK_FALSE(host.process.contains(kStageDir));  // A guard in its script must notice.
    }
}

TEST_CASE("a step whose container is made before its tasks is marked") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    host.process["SLURM_JOB_ID"] = "7";
    bool has_container = true;
    SECTION("pyxis") {
        host.arguments = {"-N2", "--container-image=/stage/7/step.0/img.sqsh", "nvidia-smi"};
    }
    SECTION("pyxis, by sbatch") {
        host.process[kInheritedContainer] = "img";
    }
    SECTION("Slurm's own") {
        host.arguments = {"--container", "/bundle", "true"};
    }
    SECTION("the program's own") {
        host.arguments = {"-N2", "podman", "--container-image=x"};
        has_container = false;
    }
    SECTION("none") {
        has_container = false;
    }
    SubmitSide side = world.side();
    side.on_option("a", false);
    REQUIRE(side.on_options_parsed(host));
    CHECK(options_in(host.process[kStepSpecs]).has_container == has_container);
}

TEST_CASE("a step can't bring the bundle of its own --container=") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    host.process["SLURM_JOB_ID"] = "7";
    host.arguments = {"--container=/tmp/bundle", "true"};
    SubmitSide side = world.side();
    SECTION("the bundle itself, or a directory that it is in") {
        side.on_option(GENERATE("a:/tmp/bundle:temp", "a:/tmp"), false);
        CHECK_THAT(refusal(side, host), Catch::Contains("Slurm opens the bundle"));
    }
    SECTION("other files") {
        side.on_option(GENERATE("a:/tmp/bundles", "a", "a:/tmp/bundle/data"), false);
        CHECK(side.on_options_parsed(host));
    }
    SECTION("a bundle that may be there already") {
        side.on_option("a:/tmp/bundle:keep", false);
        CHECK(side.on_options_parsed(host));
    }
    SECTION("the bundle of a job") {
        host.process.erase("SLURM_JOB_ID");
        side.on_option("a:/tmp/bundle", false);
        CHECK(side.on_options_parsed(host));
    }
}

TEST_CASE("each component of a heterogeneous job hands on its own") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("a", false);
    REQUIRE(side.on_options_parsed(host));
    CHECK(handed(host)[0].source == world.directory + "/a");
    // sbatch sets the first component's variables before it parses the second (measured).
    host.process[kJobSign] = host.handed[kHandedName];
    SECTION("another file") {
        side.on_option("a", true);
        side.on_option("b", true);
        REQUIRE(side.on_options_parsed(host));
        REQUIRE(handed(host).size() == 1);
        CHECK(handed(host)[0].source == world.directory + "/b");
    }
    SECTION("none") {
        side.on_option("a", true);
        REQUIRE(side.on_options_parsed(host));
        CHECK(host.handed[kHandedName] == kNothing);
    }
}

TEST_CASE("a step over several components cannot stage for itself") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::local);
    host.process["SLURM_JOB_ID"] = "7";
    SubmitSide side = world.side();
    SECTION("the first has files") {
        side.on_option("a", false);
        REQUIRE(side.on_options_parsed(host));
    }
    SECTION("the second has files") {
        REQUIRE(side.on_options_parsed(host));
        side.on_option("a", false);
    }
    const Status second = side.on_options_parsed(host);
    REQUIRE_FALSE(second);
    CHECK_THAT(second.error().sentence(), Catch::Contains("several components"));
}

TEST_CASE("a vanished working directory is an error message") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    host.directory.clear();
    SubmitSide side = world.side();
    side.on_option("a", false);
    CHECK_THAT(refusal(side, host), Catch::Contains("working directory"));
    side.on_option(world.directory + "/a", false);
    CHECK(side.on_options_parsed(host));
}
TEST_CASE(
    "files with more than MaxBytes are refused at submission, as far as it can be known") {
    const SubmitWorld world;
    world.scratch.write("stagecast.conf", "MaxBytes=10\n");
    world.scratch.write("six", "123456");
    world.scratch.write("five", "12345");
    const auto submitted = [&](const std::vector<std::string>& values) {
        SubmitSide side = world.side();
        FakeHost host = world.host(Context::allocator);
        for (const std::string& value : values) {
            side.on_option(world.directory + '/' + value, false);
        }
        const Status done = side.on_options_parsed(host);
        return done ? std::string{} : done.error().sentence();
    };
    CHECK(submitted({"five", "five:b"}).empty());
    CHECK(submitted({"six", "five::late"}).empty());
    CHECK(submitted({"six", "five"}).find("have 11 bytes, this site allows 10 bytes") !=
          std::string::npos);
}

TEST_CASE("a destination that this host's DestRoots forbid is refused at submission") {
    const SubmitWorld world;
    world.scratch.write("stagecast.conf", "DestRoots=/scratch,/var/tmp/\n");
    const auto submitted = [&](const std::string& value) {
        SubmitSide side = world.side();
        FakeHost host = world.host(Context::allocator);
        side.on_option(value, false);
        const Status done = side.on_options_parsed(host);
        return done ? std::string{} : done.error().sentence();
    };
    for (const char* const allowed :
         {"a", "a:b", "a:/scratch/b", "a:/scratch/", "a:/var/tmp/x/b", "a:/%u/b"}) {
        CHECK(submitted(allowed).empty());
    }
    for (const char* const other : {"a:/etc/b", "a:/scratchy/b", "a:/scratch/../etc/b"}) {
        CAPTURE(other);
        CHECK_FALSE(submitted(other).empty());
    }
    CHECK(submitted("a:/etc/b")
              .find("/etc/b: absolute destinations are not allowed there; this "
                    "site allows them below /scratch, /var/tmp") != std::string::npos);
}
