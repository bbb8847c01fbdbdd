// Tests that specs lead only to places that the site allows.
#include "stager/worker/requests/orders.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <array>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::Scratch;

const OrderPlaces kPlaces{.stage_dir = "/var/spool/stagecast/42",
                          .dest_subdir = "",
                          .dest_roots = {"/tmp", "/tmp/deep", "/scratch"},
                          .work_dir = "/home/alice"};

std::string serial(const std::vector<std::string>& options) {
    std::vector<StageSpec> specs;
    for (const std::string& option : options) {
        const auto spec = parse_spec(option);
        REQUIRE(spec);
        specs.push_back(made_absolute(*spec, "/home/alice"));
    }
    const auto line = serialize(specs);
    REQUIRE(line);
    return *line;
}

Result<SinkOrder> target(const std::string& option, OrderPlaces places = kPlaces) {
    const Result<Orders> orders = Orders::parse(serial({option}), std::move(places));
    if (!orders) {
        return orders.error();
    }
    ManifestEntry entry;
    entry.name = "x";
    return orders->target_of(entry);
}

std::string path_of(const std::string& option, OrderPlaces places = kPlaces) {
    const Result<SinkOrder> order = target(option, std::move(places));
    return order ? order->target.place.path() : order.error().sentence();
}

}  // namespace

TEST_CASE("a destination is below the stage directory or a root") {
    CHECK(path_of("/shared/in.dat") == "/var/spool/stagecast/42/in.dat");
    CHECK(path_of("in.dat:a/b") == "/var/spool/stagecast/42/a/b");
    CHECK(path_of("in.dat:a/") == "/var/spool/stagecast/42/a/in.dat");
    CHECK(path_of("in.dat:/tmp/x") == "/tmp/x");
    CHECK(target("in.dat:/tmp/deep/x")->target.place.root == "/tmp/deep");
    CHECK(target("in.dat:/tmp/x")->target.place.refuses_network);
    CHECK(target("in.dat:/tmp/x")->target.place.makes_directories);
    CHECK(target("in.dat")->target.place.makes_directories);
    CHECK(target("in.dat:/tmp/x")->target.place.guarded_by.empty());
    OrderPlaces push = kPlaces;
    push.traits = kPushTraits;
    CHECK_FALSE(target("in.dat:/tmp/x", push)->target.place.makes_directories);
    CHECK(target("in.dat:/tmp/x", push)->target.place.guarded_by == "PushRoots");

    OrderPlaces step = kPlaces;
    step.dest_subdir = "step.3";
    CHECK(path_of("in.dat", step) == "/var/spool/stagecast/42/step.3/in.dat");
    CHECK(path_of("in.dat:/tmp/x", step) == "/tmp/x");
}

TEST_CASE("an absolute destination outside of the roots is refused, and says what is allowed") {
    CHECK(path_of("a:/tmp") == "/tmp: is a directory; write /tmp/ to put the file into it");
    for (const char* option : {"a:/etc/x", "a:/tmpx/y"}) {
        CHECK_THAT(path_of(option), Contains("not allowed there; this site allows them below"));
    }
    OrderPlaces none = kPlaces;
    none.dest_roots.clear();
    CHECK_THAT(path_of("a:/tmp/x", none), Contains("use a relative one"));
    OrderPlaces all = kPlaces;
    all.dest_roots = {"/"};
    CHECK(path_of("a:/etc/x", all) == "/etc/x");
}

TEST_CASE("forged specs are refused") {
    for (const char* specs :
         {"", "garbage", "1;", "1;-,/a,../../etc/passwd", "1;-,relative,"}) {
        CHECK_FALSE(Orders::parse(specs, kPlaces));
    }
}

TEST_CASE("flags are applied; below the stage directory everything is the job's") {
    CHECK(target("a:/tmp/x:keep")->target.existing == Existing::keep);
    CHECK(target("a:/tmp/x")->target.existing == Existing::refuse);
    CHECK(target("a:x")->target.existing == Existing::overwrite);
    CHECK(target("a:/tmp/x:durable")->target.is_durable);
    CHECK(target("a:/tmp/x:temp")->is_temporary);
    CHECK(target("a:/tmp/x:optional")->is_optional);
}

TEST_CASE("a manifest's entry that no spec asks for is refused") {
    const Result<Orders> orders = Orders::parse(serial({"a", "b"}), kPlaces);
    REQUIRE(orders);
    ManifestEntry entry;
    entry.spec = 2;
    CHECK_FALSE(orders->target_of(entry));
    entry.spec = 0;
    entry.line = serial({"c:/tmp/x"});
    CHECK_FALSE(orders->target_of(entry));
}

TEST_CASE("a list is read line by line, and its flags apply to each") {
    const Scratch scratch;
    const std::string list =
        scratch.write("list", "# inputs\n/shared/a\n\nb:/tmp/b:keep\n/shared/c:sub/c\n");
    const Result<Orders> orders =
        Orders::parse(serial({"/shared/first", "@" + list + "::optional"}), kPlaces);
    REQUIRE(orders);
    const auto sources = orders->sources();
    REQUIRE(sources);
    REQUIRE(sources->size() == 4);
    CHECK((*sources)[0].path == "/shared/first");
    CHECK((*sources)[2].path == "/home/alice/b");
    CHECK((*sources)[2].is_optional);
    CHECK((*sources)[2].spec == 1);
    const std::array<std::string, 3> wanted{
        "/var/spool/stagecast/42/a", "/tmp/b", "/var/spool/stagecast/42/sub/c"};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        ManifestEntry entry;
        entry.spec = 1;
        entry.line = (*sources)[i + 1].line;
        const auto order = orders->target_of(entry);
        REQUIRE(order);
        CHECK(order->target.place.path() == wanted[i]);
        CHECK(order->is_optional);
    }
}

TEST_CASE("a list is read with any line ends, and equal lines count once") {
    const Scratch scratch;
    static_cast<void>(scratch.write("blank ", ""));
    const std::string list = scratch.write("list",
                                           "\xef\xbb\xbf# inputs\r\n/shared/a\r\n  "
                                           "/shared/b:x/b:temp \r\n/shared/a\n/shared/./a:a\n" +
                                               scratch.path("blank ") + "\n");
    const Result<Orders> orders =
        Orders::parse(serial({"/shared/b:x/b:temp", "@" + list}), kPlaces);
    REQUIRE(orders);
    const auto sources = orders->sources();
    REQUIRE(sources);
    REQUIRE(sources->size() == 3);
    CHECK((*sources)[0].where.empty());
    CHECK((*sources)[1].path == "/shared/a");
    CHECK((*sources)[1].where == list + ", line 2");
    CHECK((*sources)[2].path == scratch.path("blank "));
    ManifestEntry entry;
    entry.spec = 1;
    entry.line = (*sources)[1].line;
    CHECK(orders->target_of(entry)->where == list + ", line 2");
}

TEST_CASE("patterns are expanded on the node, in options and lists; not for a push") {
    OrderPlaces places = kPlaces;
    places.names = {.job_id = 42, .node = 3};
    CHECK(path_of("in.%j:/tmp/%j.%n", places) == "/tmp/42.3");
    CHECK(path_of("in.%j", places) == "/var/spool/stagecast/42/in.42");
    const Scratch scratch;
    const std::string list = scratch.write("list", "/shared/in.%j:/tmp/%j.%n\n");
    const Result<Orders> orders = Orders::parse(serial({"@" + list}), places);
    const auto sources = orders->sources();
    REQUIRE(sources);
    CHECK(sources->at(0).path == "/shared/in.42");
    ManifestEntry entry;
    entry.line = sources->at(0).line;
    CHECK(orders->target_of(entry)->target.place.path() == "/tmp/42.3");
    OrderPlaces push = places;
    push.traits = kPushTraits;
    CHECK(path_of("in:/tmp/%j.$x", push) == "/tmp/%j.$x");
}

TEST_CASE("a line of a list that names a file is that file") {
    const Scratch scratch;
    OrderPlaces places = kPlaces;
    places.names = {.job_id = 42};
    places.work_dir = scratch.path();
    std::string list;
    for (const char* name : {"my%20job.csv", "a:b:c", "#x#", "@y", "50%%"}) {
        list += scratch.path() + '/' + name + '\n';
        scratch.write(name, "x");
    }
    list += "@y\n#x#\n";
    list += "in%j:to\n";
    const Result<Orders> orders =
        Orders::parse(serial({"@" + scratch.write("list", list)}), places);
    const auto sources = orders->sources();
    REQUIRE(sources);
    std::string all;
    for (const SourceOrder& order : *sources) {
        all += order.path.substr(scratch.path().size() + 1) + ' ';
    }
    CHECK(all == "my%20job.csv a:b:c #x# @y 50%% in42 ");
    ManifestEntry entry;
    entry.line = sources->at(0).line;
    CHECK(orders->target_of(entry)->target.place.name() == "my%20job.csv");
    CHECK_THAT(sources->back().where, Contains("the % in") && Contains("was expanded"));
    CHECK_THAT(sources->front().where, !Contains("was expanded"));
}

TEST_CASE("Slurm's output files of the job are left out of its directories") {
    OrderPlaces places = kPlaces;
    places.names = {.job_id = 43, .array_job_id = 42, .array_task_id = 1};
    const auto excludes = [&](const char* option) {
        const Result<Orders> orders = Orders::parse(serial({option}), places);
        return orders->sources()->at(0).choice.excludes;
    };
    CHECK(excludes("a::exclude=b.%j") ==
          std::vector<std::string>{"b.43", "slurm-43.out", "slurm-42_[0-9]*.out"});
    places.traits = kPushTraits;
    CHECK(excludes("a").empty());
}

TEST_CASE("a relative name in a list needs a working directory, an absolute one none") {
    const Scratch scratch;
    OrderPlaces places = kPlaces;
    places.work_dir.clear();
    const auto sources_of = [&](const std::string& content) -> std::string {
        const Result<Orders> orders =
            Orders::parse(serial({"@" + scratch.write("list", content)}), places);
        const auto sources = orders->sources();
        return sources ? "ok" : sources.error().sentence();
    };
    CHECK(sources_of("/shared/a\n") == "ok");
    CHECK_THAT(sources_of("a\n"), Contains("list, line 1: the job's working directory"));
}

TEST_CASE("an error of a list names the list and the line") {
    const Scratch scratch;
    const auto sources_of = [&](const std::string& content) -> std::string {
        const std::string list = scratch.write("list", content);
        const Result<Orders> orders = Orders::parse(serial({"@" + list}), kPlaces);
        const auto sources = orders->sources();
        return sources ? "ok" : sources.error().sentence();
    };
    CHECK_THAT(sources_of("/a\n/b:c:nonsense\n"), Contains("list, line 2"));
    CHECK_THAT(sources_of("@/other\n"), Contains("list, line 1: a list can't name another"));
    CHECK_THAT(sources_of("/a\ncluster://b/data/x\n"),
               Contains("list, line 2: a list can't name a file of another cluster"));
    CHECK_THAT(sources_of("/a\n/x/a\n"), Contains("'/x/a' (") && Contains("list, line 2)"));
    CHECK_THAT(sources_of("/a\n/b:a/b\n"),
               Contains("list, line 1)") && Contains("list, line 2)"));
    CHECK_THAT(sources_of("/a:/tmp/$USER/a\n"), Contains("list, line 1: '/tmp/$USER/a'"));
    CHECK_THAT(sources_of("/a:/etc/a\n"), Contains("list, line 1: /etc/a: absolute"));
    const Result<Orders> absent = Orders::parse(serial({"@/nowhere/list"}), kPlaces);
    REQUIRE(absent);
    CHECK_THAT(absent->sources().error().sentence(), Contains("No such file"));
}

}  // namespace stage
