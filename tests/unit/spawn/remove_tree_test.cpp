// Tests that a job's directory is removed with everything in it, and nothing outside.
#include "stager/spawn/remove_tree.h"

#include "stager/removal/cleanup_entry.h"
#include "stager/spawn/cleanup_lists.h"
#include "tests/unit/root.h"
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

TEST_CASE("a missing directory needs no removal") {
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

TEST_CASE("root removes what lies in the user's own directories, whatever user made it",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot stage;
    stage.as_user("mkdir -p deep/er; ln -s /etc deep/link");
    write_file(stage.job() + "/deep/er/file");
    REQUIRE(::mkdir((stage.job() + "/deep/empty").c_str(), 0700) == 0);
    CHECK(sentence_of(stage.remove()) == "(removed)");
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("another user's directory that was moved into the job's is set aside, not emptied",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot stage;
    stage.as_user("mkdir -p T; echo x >own");
    REQUIRE(::mkdir((stage.job() + "/T/private").c_str(), 0700) == 0);
    write_file(stage.job() + "/T/private/thesis");
    SECTION("of a job") {
        const Status removed = stage.remove();
        CHECK(sentence_of(removed) ==
              "42: T/private is a directory of uid 0; it has been moved to "
              "StageRoot/.stagecast/left.42"
              "; return it to its owner, or remove it; the rest is then removed by the next "
              "sweep");
        CHECK_FALSE(exists(stage.job()));
        const std::string left = stage.root() + "/.stagecast/left.42";
        CHECK(exists(left + "/T/private/thesis"));
        CHECK_FALSE(exists(left + "/own"));
        struct stat status {};
        REQUIRE(::lstat((stage.root() + "/.stagecast").c_str(), &status) == 0);
        CHECK((status.st_mode & 07777U) == 0700);
        CHECK(cleanup_lists(stage.fd()).empty());
        CHECK(directories_set_aside(stage.fd()) == std::vector<std::string>{"left.42"});
        CHECK_FALSE(stage.remove({".stagecast", "left.42"}));
        CHECK(exists(left + "/T/private/thesis"));
        REQUIRE(::rename((left + "/T/private").c_str(), (stage.outside() + "/T").c_str()) == 0);
        CHECK(sentence_of(stage.remove({".stagecast", "left.42"})) == "(removed)");
        CHECK_FALSE(exists(stage.root() + "/.stagecast"));
    }
    SECTION("of a step") {
        stage.as_user("mkdir step.1; mv T step.1");
        CHECK_FALSE(stage.remove({"42", "step.1"}));
        CHECK(exists(stage.job() + "/step.1/T/private/thesis"));
    }
    SECTION("the job's directory itself is of another") {
        REQUIRE(::chown(stage.job().c_str(), 0, 0) == 0);
        CHECK_FALSE(stage.remove());
        CHECK(exists(stage.root() + "/.stagecast/left.42/T/private/thesis"));
    }
}

TEST_CASE("a tree deeper than descriptors or paths reach is removed") {
    const StageRoot stage;
    UniqueFd here{::open(stage.job().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    for (int depth = 0; depth < 3000; ++depth) {
        REQUIRE(::mkdirat(here.get(), "d", 0755) == 0);
        if (::geteuid() == 0) {
            REQUIRE(::fchownat(here.get(), "d", kUnknownUid, kUnknownUid, 0) == 0);
        }
        here.reset(::openat(here.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(here);
    }
    CHECK(sentence_of(stage.remove()) == "(removed)");
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("a directory with more subdirectories than are remembered is removed", "[root]") {
    const StageRoot stage;
    stage.as_user("mkdir $(seq 5000) && for i in $(seq 5000); do : > $i/x; done");
    SECTION("of the user") {
        CHECK(sentence_of(stage.remove()) == "(removed)");
    }
    if (!is_root()) {
        return;
    }
    SECTION("of another: that ends") {
        for (int i = 1; i <= 5000; ++i) {
            REQUIRE(::chown((stage.job() + "/" + std::to_string(i)).c_str(), 0, 0) == 0);
        }
        CHECK_THAT(sentence_of(stage.remove()), Catch::Contains("is a directory of uid 0"));
    }
    CHECK_FALSE(exists(stage.job()));
}

TEST_CASE("a mount in it is not entered, and named", "[root]") {
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

namespace {

/// The cleanup list of a stage of kUser's, or another's.
void add_list(const StageRoot& world,
              const std::vector<std::string>& path,
              const std::vector<std::string>& entries,
              const UserIdentity& user = kUser) {
    auto list = CleanupList::open(world.fd(), cleanup_list_name(user.uid, user.gid, path));
    REQUIRE(list);
    REQUIRE(list->add(entries));
}

}  // namespace

TEST_CASE("files staged elsewhere for the job are removed though the job emptied its directory",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    REQUIRE(::chown(world.outside().c_str(), kUnknownUid, kUnknownUid) == 0);
    const auto list = [&](const std::vector<std::string>& path, const std::string& name) {
        world.as_user("echo x >" + world.outside() + "/" + name);
        add_list(world, path, {world.outside() + "/" + name});
    };
    list({"42"}, "of-job");
    list({"42", "step.1"}, "of-step");
    list({"42", "step.2"}, "of-other-step");
    world.as_user("mkdir step.1; touch " + world.outside() + "/own");
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

TEST_CASE("files elsewhere that can't be removed are reported, and retried where that may help",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    REQUIRE(::chown(world.outside().c_str(), kUnknownUid, kUnknownUid) == 0);
    world.as_user("mkdir -m 777 " + world.outside() + "/tree " + world.outside() + "/tree/mnt");
    const std::string tree = world.outside() + "/tree";
    const UniqueFd top{::open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    add_list(world, {"42"}, {removal_entry(tree + '/', top.get())});
    SECTION("another user's directory in it: never") {
        REQUIRE(::mkdir((tree + "/roots").c_str(), 0700) == 0);
        write_file(tree + "/roots/file");
        CHECK_THAT(sentence_of(world.remove()),
                   Catch::Contains("were not removed: " + tree + ": "));
        CHECK(exists(world.outside() + "/.tree.stagecast.going/roots/file"));
    }
    SECTION("a mount in it: when that is gone") {
        const std::string mount = tree + "/mnt";
        if (::mount(world.root().c_str(), mount.c_str(), nullptr, MS_BIND, nullptr) != 0) {
            WARN("skipped: no mounts here");
            return;
        }
        const std::string said = sentence_of(world.remove());
        CHECK_THAT(said, Catch::Contains(tree + ": ") && Catch::Contains("mount point"));
        CHECK_THAT(said, Catch::Contains("the next sweep tries again"));
        CHECK(jobs_with_cleanup_lists(world.fd()) == std::set<std::uint32_t>{42});
        const std::string moved = world.outside() + "/.tree.stagecast.going/mnt";
        REQUIRE(::umount2(moved.c_str(), MNT_DETACH) == 0);
        CHECK(sentence_of(world.remove()) == "(removed)");
        CHECK_FALSE(exists(world.outside() + "/.tree.stagecast.going"));
    }
    CHECK(cleanup_lists(world.fd()).empty());
}

TEST_CASE("a file that another stage of the user uses stays until that one ends", "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    REQUIRE(::chown(world.outside().c_str(), kUnknownUid, kUnknownUid) == 0);
    world.as_user("touch " + world.outside() + "/shared");
    const std::string shared = world.outside() + "/shared";
    add_list(world, {"42"}, {use_entry(shared), shared});
    add_list(world, {"43"}, {use_entry(shared)});
    // Another user's list is no reference of this one's.
    add_list(world, {"44"}, {use_entry("/")}, {.uid = 1, .gid = 1, .name = {}});
    REQUIRE(world.remove());
    CHECK(exists(shared));
    CHECK(cleanup_lists(world.fd()).size() == 2);
    REQUIRE(world.remove({"43"}));
    CHECK_FALSE(exists(shared));
    CHECK(jobs_with_cleanup_lists(world.fd()) == std::set<std::uint32_t>{44});
}

// Through a second server, which waits for the first, no signal ends a call: it has been read.
TEST_CASE("a file system that hangs keeps what lies there, and nothing else", "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    const std::string place = GENERATE("hangs", "through");
    for (const char* name : {"/hangs", "/through"}) {
        REQUIRE(::mkdir((world.outside() + name).c_str(), 0755) == 0);
        REQUIRE(::chown((world.outside() + name).c_str(), kUnknownUid, kUnknownUid) == 0);
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
    world.as_user("touch file");
    add_list(world, {"42"}, {world.outside() + '/' + place + "/x"});
    REQUIRE(::kill(servers[0], SIGSTOP) == 0);
    const Status removed = remove_tree(
        world.fd(), {.path = {"42"}, .user = kUser}, {.lists = std::chrono::seconds{1}});
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
    CHECK(jobs_with_cleanup_lists(world.fd()) == std::set<std::uint32_t>{42});
    CHECK(world.remove());  // What the next sweep does.
    CHECK_FALSE(exists(world.root() + "/.stagecast"));
}

TEST_CASE("a list is followed with the rights of the user in its name, and no others",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    write_file(world.outside() + "/roots");
    REQUIRE(::mkdir((world.outside() + "/private").c_str(), 0700) == 0);
    write_file(world.outside() + "/private/file");
    const std::vector<std::string> entries{world.outside() + "/roots",
                                           world.outside() + "/private/",
                                           world.outside() + "/private"};
    add_list(world, {"42"}, entries);
    // Whatever the file's owner became: it is not asked.
    REQUIRE(::chown((world.root() + "/.stagecast/" +
                     to_text(cleanup_list_name(kUser.uid, kUser.gid, {"42"})))
                        .c_str(),
                    0,
                    0) == 0);
    CHECK_THAT(sentence_of(world.remove()), Catch::Contains("were not removed: "));
    CHECK(exists(world.outside() + "/roots"));
    CHECK(exists(world.outside() + "/private/file"));
    CHECK_FALSE(exists(world.root() + "/.stagecast"));
}

TEST_CASE("a file that the user makes in the job's directory is no list", "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    REQUIRE(::chown(world.outside().c_str(), kUnknownUid, kUnknownUid) == 0);
    world.as_user("touch " + world.outside() + "/stays; mkdir .stagecast; printf '" +
                  world.outside() + "/stays\\0' >.stagecast/remove");
    REQUIRE(world.remove());
    CHECK(exists(world.outside() + "/stays"));
}

TEST_CASE("only lists, no directory: the directory is another user's", "[root]") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    world.as_user("touch file");
    add_list(world, {"42"}, {"/nowhere/x"});
    REQUIRE(remove_tree(world.fd(), {.path = {"42"}, .user = kUser, .has_directory = false}));
    CHECK(exists(world.job() + "/file"));
    CHECK(cleanup_lists(world.fd()).empty());
}
