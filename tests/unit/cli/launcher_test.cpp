// Tests each launcher's command lines, and the assignment of output to nodes.
#include "stager/cli/launch/launch_words.h"

#include <catch2/catch.hpp>

#include <map>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::VectorContains;

const std::vector<std::string> kNodes{"n1", "n3", "n10"};

Launch launch() {
    return {.nodes = kNodes, .command = "echo 'a b'", .connect_s = 7};
}

}  // namespace

TEST_CASE("a word stays one word for a shell, whatever is in it") {
    CHECK(shell_word("a b") == "'a b'");
    CHECK(shell_word("it's $HOME; `id`") == "'it'\\''s $HOME; `id`'");
    CHECK(shell_line({"w", "--dest=/a b"}) == "'w' '--dest=/a b'");
}

TEST_CASE("every launcher but none has a name") {
    CHECK(read_launcher("ssh") == Launcher::ssh);
    CHECK(read_launcher("clush") == Launcher::clush);
    CHECK_FALSE(read_launcher("none"));
    CHECK_FALSE(read_launcher("rsh"));
    CHECK_FALSE(read_launcher("pdsh"));  // It passes no input to the nodes.
    CHECK(to_string(Launcher::srun) == "srun");
}

TEST_CASE("ssh has a command line for each node, the others one for all") {
    const auto ssh = launch_lines(Launcher::ssh, launch());
    REQUIRE(ssh.size() == 3);
    CHECK(ssh[1].front() == "ssh");
    CHECK(ssh[1].back() == R"(exec /bin/sh -c 'echo '\''a b'\''')");
    CHECK(ssh[1][ssh[1].size() - 2] == "n3");
    CHECK_THAT(ssh[0], VectorContains(std::string{"-oConnectTimeout=7"}));
    CHECK_THAT(ssh[0], VectorContains(std::string{"-oBatchMode=yes"}));
    const auto clush = launch_lines(Launcher::clush, launch());
    REQUIRE(clush.size() == 1);
    CHECK(clush[0][1] == "PYTHONUNBUFFERED=1");
    CHECK_THAT(clush[0], VectorContains(std::string{"n1,n3,n10"}));
    CHECK(clush[0].back() == R"(exec /bin/sh -c 'echo '\''a b'\''')");
    CHECK_THAT(clush[0], VectorContains(std::string{"--color=never"}));
    CHECK_THAT(clush[0], VectorContains(std::string{"command_timeout=0"}));
}

TEST_CASE("srun starts one task a node, without a job only where that is wanted") {
    Launch step = launch();
    auto line = launch_lines(Launcher::srun, step).front();
    CHECK_THAT(line, VectorContains(std::string{"--ntasks=3"}));
    CHECK_THAT(line, VectorContains(std::string{"--nodelist=n1,n3,n10"}));
    CHECK_THAT(line, VectorContains(std::string{"--input=all"}));
    CHECK_THAT(line, !VectorContains(std::string{"--no-allocate"}));
    step.is_without_job = true;
    line = launch_lines(Launcher::srun, step).front();
    CHECK_THAT(line, VectorContains(std::string{"--no-allocate"}));
}

TEST_CASE("lines belong to the node before the colon, others to no node") {
    const auto said =
        lines_by_node("n3: one: two\nn1: x\nclush@login: n1: gone\nn1\n\nn99: y", kNodes);
    REQUIRE(said.size() == 2);
    CHECK(said[0].node == 1);
    CHECK(said[0].text == "one: two");
    CHECK(said[1].node == 0);
}

TEST_CASE("srun's tasks print their node") {
    const Ended ended{
        .out = "1: stagecast-node n1\n0: stagecast-node n10\n1: {\"rank\":1}\nx: y\n",
        .err = "0: stagecast-worker: no room\nsrun: error: n10: task 0: Exited\n"};
    const std::map<std::size_t, std::string> tasks{{0, "n10"}, {1, "n1"}};
    CHECK(nodes_of_tasks(ended.out) == tasks);
    const auto heard = heard_by_node(Launcher::srun, {ended}, kNodes);
    REQUIRE(heard.size() == 3);
    CHECK(heard[0].out.size() == 2);
    CHECK(complaint(heard[2], "none") == "no room");
    CHECK(heard[1].out.empty());
    CHECK(complaint(heard[1], "none") == "none");
    CHECK(nodes_of_tasks("00: stagecast-node n1\n").at(0) == "n1");
}

TEST_CASE("a task of srun is of one node only, and a node has one task") {
    const std::map<std::size_t, std::string> tasks{{0, "n10"}, {1, "n1"}};
    CHECK(nodes_of_tasks("0: stagecast-node n10\n1: stagecast-node n1\n1: stagecast-node n2\n"
                         "2: stagecast-node n1\n") == tasks);
    CHECK(nodes_of_tasks("0: stagecast-node n3\n3: stagecast-node n10\n", tasks) == tasks);
}

TEST_CASE(
    "a node that does not start the worker is distinguished from one that does not answer") {
    const auto why = [](Launcher launcher, int code, bool was_ended = false) {
        Ended ended;
        ended.code = code;
        ended.was_ended = was_ended;
        ended.err = code == kNotStarted ? "ssh: No such file or directory" : "";
        return why_silent(launcher, ended, std::chrono::seconds{20});
    };
    CHECK(why(Launcher::ssh, kNotStarted) == "ssh: No such file or directory");
    CHECK_THAT(why(Launcher::ssh, 255), Contains("does not answer ssh"));
    CHECK_THAT(why(Launcher::ssh, 143, true),
               Contains("did not start the worker by ssh within 20 s") && Contains(".bashrc"));
    CHECK_THAT(why(Launcher::ssh, 0),
               Contains("its login shell ended without starting the worker"));
    CHECK_THAT(why(Launcher::ssh, 1), Contains("its login shell ended"));
    // One process for all nodes says nothing of a single one.
    CHECK_THAT(why(Launcher::clush, 0), Contains("does not answer clush"));
    CHECK_THAT(why(Launcher::clush, 255, true), Contains("did not start the worker by clush"));
}

TEST_CASE("a worker's line has success or the culprit") {
    const Heard good{.out = {"noise", R"({"rank":2,"bytes":10,"digest":"ab"})"}, .err = {}};
    const auto did = worker_did(good);
    REQUIRE(did);
    CHECK(did->has_it);
    CHECK(did->bytes == 10);
    CHECK_FALSE(did->culprit);
    const Heard bad{.out = {R"({"digest":"","culprit":3,"why":"full"})"}, .err = {}};
    CHECK_FALSE(worker_did(bad)->has_it);
    CHECK(worker_did(bad)->culprit == 3);
    CHECK(worker_did(bad)->why == "full");
    CHECK_FALSE(worker_did({.out = {"{"}, .err = {}}));
    const auto seen =
        worker_seen({.out = {R"({"bytes":7,"digest":"ab","manifest":"00"})"}, .err = {}});
    REQUIRE(seen);
    CHECK(seen->bytes == 7);
    CHECK(seen->digest == "ab");
    CHECK(seen->manifest == "00");
    CHECK_FALSE(worker_seen({.out = {}, .err = {"stagecast-worker: no room"}}));
    CHECK_FALSE(worker_did({.out = {}, .err = {}}));
    CHECK_FALSE(worker_did({.out = {R"({"digest":7,"culprit":"x"})"}, .err = {}})->has_it);
}

TEST_CASE("a node's command is one line, the destination as one word") {
    PushOptions options;
    options.destination = "/it's here/";
    const std::string probe = probe_words(default_config(), options);
    CHECK_THAT(probe, Contains(R"(d='/it'\''s here/')"));
    CHECK(probe.find('\n') == std::string::npos);
    CHECK_THAT(probe, Contains(R"([ -w "$d" ])"));
    options.mode = PushMode::compare;  // Who only reads need not be able to write.
    CHECK_THAT(probe_words(default_config(), options), !Contains(R"([ -w "$d" ])"));
    CHECK_THAT(look_words(default_config(), options, "00ff"),
               VectorContains(std::string{"--manifest=00ff"}));
    options.rate = 8'000'000;
    options.timeout_s = 60;
    const auto words = worker_words(default_config(), options);
    CHECK_THAT(words, VectorContains(std::string{"--timeout=60"}));
    CHECK_THAT(words, VectorContains(std::string{"--protection=encrypt"}));
    CHECK_THAT(words, VectorContains(std::string{"--durable=yes"}));
    Config site = default_config();
    site.ttl = 9;
    site.dscp = 46;
    site.policies.flows = 4;
    const auto routed = worker_words(site, options);
    CHECK_THAT(routed, VectorContains(std::string{"--ttl=9"}));
    CHECK_THAT(routed, VectorContains(std::string{"--dscp=46"}));
    CHECK_THAT(routed, VectorContains(std::string{"--flows=4"}));
}

TEST_CASE("the group's interface is the site's, unless the command names one") {
    PushOptions options;
    Config site = default_config();
    CHECK_THAT(shell_line(worker_words(site, options)), !Contains("--interface"));
    site.interfaces = {{"hsn0", "hsn1"}, {"eth0"}};
    CHECK_THAT(worker_words(site, options),
               VectorContains(std::string{"--interface=hsn0+hsn1,eth0"}));
    options.interface = "ib0";
    const auto words = worker_words(site, options);
    CHECK_THAT(words, VectorContains(std::string{"--interface=ib0"}));
    CHECK_THAT(shell_line(words), !Contains("hsn0"));
}

TEST_CASE("the pieces of a long line of srun's are joined, and heard once it is whole") {
    const std::string piece(1024, 'x');
    const std::map<std::size_t, std::string> tasks{{0, "n1"}, {1, "n3"}};
    const std::string cut = "0: " + piece + "\n1: y\n0: " + piece + "\n";
    const std::string whole = cut + "0: end\n0: z\n";
    const auto said = lines_by_task(whole, tasks, kNodes);
    REQUIRE(said.size() == 3);
    CHECK(said[0].node == 0);
    CHECK(said[0].text == piece + piece + "end");
    CHECK(said[1].text == "y");
    CHECK(said[2].text == "z");
    CHECK(whole_srun_lines(whole) == whole);
    CHECK(whole_srun_lines(whole + "0: unfinished") == whole);
    CHECK(whole_srun_lines("0: a\n0: " + piece + "\n") == "0: a\n");
    CHECK(whole_srun_lines("0: " + piece + "\n").empty());
    CHECK(whole_srun_lines("0: " + piece + "\n1: y\n").empty());
    CHECK(whole_srun_lines("1: y\n0: " + piece + "\n1: z\n") == "1: y\n");
    CHECK(whole_srun_lines("").empty());
}

}  // namespace stage
