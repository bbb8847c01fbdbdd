// Is a job's directory gone with everything in it, and nothing outside of it touched?
#include "stager/spawn/remove_tree.h"

#include "stager/files/empty_directory.h"
#include "stager/files/removal.h"
#include "stager/spawn/kept_lists.h"
#include "tests/unit/spawn/stage_root.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

using namespace stage;
using namespace stage::test;
using Kind = SpawnEvent::Kind;

namespace {

std::string sentence_of(const Status& status) {
    return status ? std::string{"(removed)"} : status.error().sentence();
}

}  // namespace

TEST_CASE("a job's directory goes with all that its user made") {
    const StageRoot stage;
    stage.as_user(
        "mkdir -p a/b/c closed/in readonly; echo x >a/b/c/f; echo x >closed/in/f; echo x "
        ">readonly/f; "
        "mkfifo pipe; ln -s /etc/passwd link; ln f2 2>/dev/null || :; echo x >'odd\n name'; "
        "chmod 000 closed/in closed; chmod 555 readonly; chmod 100 a/b");
    CHECK(sentence_of(stage.remove()) == "(removed)");
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("what is not there needs no removal") {
    const StageRoot stage;
    CHECK(stage.remove({"43"}));
    CHECK(stage.remove({"42", "step.0"}));
    CHECK(exists(stage.job()));
}

TEST_CASE("a step's directory goes, its job's stays") {
    const StageRoot stage;
    stage.as_user("mkdir step.0 step.1; echo x >step.0/f");
    CHECK(stage.remove({"42", "step.0"}));
    CHECK_FALSE(exists(stage.job() + "/step.0"));
    CHECK(exists(stage.job() + "/step.1"));
}

TEST_CASE("links lead nowhere") {
    const StageRoot stage;
    write_file(stage.outside() + "/precious");
    SECTION("in the directory") {
        stage.as_user("ln -s " + stage.outside() + " dir; ln -s " + stage.outside() +
                      "/precious file");
        CHECK(stage.remove());
        CHECK_FALSE(exists(stage.job()));
    }
    SECTION("in its place") {
        REQUIRE(::rmdir(stage.job().c_str()) == 0);
        REQUIRE(::symlink(stage.outside().c_str(), stage.job().c_str()) == 0);
        CHECK_FALSE(stage.remove());
    }
    SECTION("on the way") {
        stage.as_user("ln -s " + stage.outside() + " step.0");
        REQUIRE(::mkdir((stage.outside() + "/x").c_str(), 0755) == 0);
        CHECK_FALSE(stage.remove({"42", "step.0", "x"}));
        CHECK(exists(stage.outside() + "/x"));
    }
    CHECK(exists(stage.outside() + "/precious"));
}

TEST_CASE("what others left in it is removed by root") {
    if (!is_root()) {
        return;
    }
    const StageRoot stage;
    stage.as_user("mkdir -p deep/er; ln -s /etc deep/link");
    REQUIRE(::mkdir((stage.job() + "/deep/roots").c_str(), 0700) == 0);
    write_file(stage.job() + "/deep/roots/file");
    write_file(stage.job() + "/deep/er/file");
    CHECK(sentence_of(stage.remove()) == "(removed)");
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("a tree deeper than descriptors or paths reach is removed") {
    const StageRoot stage;
    UniqueFd here{::open(stage.job().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    for (int depth = 0; depth < 3000; ++depth) {
        REQUIRE(::mkdirat(here.get(), "d", 0755) == 0);
        if (::geteuid() == 0) {
            REQUIRE(::fchownat(here.get(), "d", kSomebody, kSomebody, 0) == 0);
        }
        here.reset(::openat(here.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(here);
    }
    CHECK(sentence_of(stage.remove()) == "(removed)");
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("a directory with more subdirectories than are remembered is removed") {
    const StageRoot stage;
    for (int i = 0; i < 5000; ++i) {
        const std::string path = stage.job() + "/" + std::to_string(i);
        REQUIRE(::mkdir(path.c_str(), 0755) == 0);
        REQUIRE(::mkdir((path + "/x").c_str(), 0755) == 0);
    }
    CHECK(sentence_of(stage.remove()) == "(removed)");
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("a mount in it is not entered, and named") {
    if (!is_root()) {
        return;
    }
    const StageRoot stage;
    const std::string mount = stage.job() + "/a/mnt";
    stage.as_user("mkdir -p a/mnt; echo x >other");
    if (::mount(stage.outside().c_str(), mount.c_str(), nullptr, MS_BIND, nullptr) != 0) {
        WARN("skipped: no mounts here");
        return;
    }
    write_file(stage.outside() + "/precious");
    const Status removed = stage.remove();
    CHECK(sentence_of(removed) == "42: a/mnt is a mount point; unmount it");
    CHECK(exists(stage.outside() + "/precious"));
    CHECK_FALSE(exists(stage.job() + "/other"));
    REQUIRE(::umount2(mount.c_str(), MNT_DETACH) == 0);
    CHECK(stage.remove());
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("the spawner removes, as the user and in the background") {
    const StageRoot stage;
    stage.as_user("mkdir a; echo x >a/f");
    SpawnWorld world;
    const auto id = world.spawner().remove_tree(stage.fd(), {.path = {"42"}, .user = kUser});
    REQUIRE(id);
    CHECK(world.next(Kind::started).id == *id);
    const SpawnEvent ended = world.next(Kind::ended);
    CHECK(ended.status == 0);
    CHECK(ended.sentence.empty());
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("a process that fills the directory while it is removed only delays it") {
    const StageRoot stage;
    std::thread filler{[job = stage.job()] {
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{600};
        for (int i = 0; std::chrono::steady_clock::now() < until; ++i) {
            std::ofstream{job + "/" + std::to_string(i % 500)} << "content";
        }
    }};
    const Status removed = remove_tree(stage.fd(), {.path = {"42"}, .user = kUser});
    filler.join();
    CHECK(removed);
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("what was staged elsewhere for the job goes though the job emptied its directory") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    REQUIRE(::chown(world.outside().c_str(), kSomebody, kSomebody) == 0);
    const auto list = [&](const std::string& directory, const std::string& name) {
        world.as_user("mkdir -p " + directory + "/.stagecast; echo x >" + world.outside() +
                      "/" + name + "; printf '" + world.outside() + "/" + name + "\\0' >" +
                      directory + "/.stagecast/remove");
    };
    list(".", "of-job");
    list("step.1", "of-step");
    list("step.2", "of-other-step");
    for (const auto& path :
         {std::vector<std::string>{"42"}, {"42", "step.1"}, {"42", "step.2"}}) {
        keep_remove_list(world.fd(), path);
    }
    world.as_user("rm -rf step.* .stagecast; touch " + world.outside() + "/own");
    REQUIRE(world.remove({"42", "step.1"}));
    CHECK_FALSE(exists(world.outside() + "/of-step"));
    CHECK(exists(world.outside() + "/of-job"));
    CHECK(exists(world.outside() + "/of-other-step"));
    REQUIRE(world.remove());
    CHECK_FALSE(exists(world.outside() + "/of-job"));
    CHECK_FALSE(exists(world.outside() + "/of-other-step"));
    CHECK(exists(world.outside() + "/own"));
    CHECK_FALSE(exists(world.root() + "/.stagecast"));
}

// Through a second server, which waits for the first, no signal ends a call: it has been read.
TEST_CASE("a file system that hangs keeps what lies there, and nothing else") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    const std::string place = GENERATE("hangs", "through");
    for (const char* name : {"/hangs", "/through"}) {
        REQUIRE(::mkdir((world.outside() + name).c_str(), 0755) == 0);
        REQUIRE(::chown((world.outside() + name).c_str(), kSomebody, kSomebody) == 0);
    }
    const std::string script = "cd " + world.outside() + R"(
        for place in hangs through; do
            bindfs -f -o allow_other hangs $place & echo $! >>servers
            for i in $(seq 500); do mountpoint -q $place && continue 2; sleep 0.02; done
            exit 1
        done)";
    REQUIRE(std::system(script.c_str()) == 0);  // NOLINT(concurrency-mt-unsafe)
    std::array<pid_t, 2> servers{};
    std::ifstream list{world.outside() + "/servers"};
    list >> servers[0] >> servers[1];
    REQUIRE(servers[1] > 1);
    world.as_user("mkdir -p .stagecast; touch file; printf '" + world.outside() + '/' + place +
                  "/x\\0' >.stagecast/remove");
    keep_remove_list(world.fd(), {"42"});
    REQUIRE(::kill(servers[0], SIGSTOP) == 0);
    const Status removed =
        remove_tree(world.fd(), {.path = {"42"}, .user = kUser}, std::chrono::seconds{1});
    for (const char* name : {"/through", "/hangs"}) {
        CHECK(::umount2((world.outside() + name).c_str(), MNT_FORCE | MNT_DETACH) == 0);
    }
    for (const pid_t server : servers) {
        static_cast<void>(::kill(server, SIGKILL));
    }
    CHECK_THAT(sentence_of(removed),
               Catch::Matchers::Contains("did not answer") &&
                   Catch::Matchers::Contains("the next sweep tries again"));
    CHECK_FALSE(exists(world.job()));
    CHECK(jobs_with_kept_lists(world.fd()) == std::set<std::uint32_t>{42});
    CHECK(world.remove());  // What the next sweep does.
    CHECK_FALSE(exists(world.root() + "/.stagecast"));
}

TEST_CASE("only a list of the job's user is followed, and no link to one") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    REQUIRE(::chown(world.outside().c_str(), kSomebody, kSomebody) == 0);
    world.as_user("mkdir .stagecast; echo x >" + world.outside() + "/stays");
    const std::string other = world.root() + "/list";
    std::ofstream{other} << world.outside() << "/stays" << '\0';
    const std::string planted = world.job() + "/.stagecast/remove";
    SECTION("another's file") {
        REQUIRE(::link(other.c_str(), planted.c_str()) == 0);
    }
    SECTION("a link") {
        REQUIRE(::symlink(other.c_str(), planted.c_str()) == 0);
    }
    SECTION("a fifo") {
        REQUIRE(::mkfifo(planted.c_str(), 0600) == 0);
    }
    keep_remove_list(world.fd(), {"42"});
    world.as_user("rm -rf .stagecast");
    CHECK_FALSE(open_kept_list(world.fd(), "42", kSomebody));
    REQUIRE(world.remove());
    CHECK(exists(world.outside() + "/stays"));
    CHECK_FALSE(exists(world.root() + "/.stagecast"));
}
