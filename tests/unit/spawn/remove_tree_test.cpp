// Is a job's directory gone with everything in it, and nothing outside of it touched?
#include "stager/spawn/remove_tree.h"

#include "stager/files/empty_directory.h"
#include "stager/files/removal.h"
#include "stager/spawn/kept_lists.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

using namespace stage;
using Kind = SpawnEvent::Kind;

namespace {

const UserIdentity kUser{.uid = kSomebody, .gid = kSomebody, .name = {}};

bool exists(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

void write_file(const std::string& path) {
    std::ofstream{path} << "content";
    REQUIRE(exists(path));
}

/// StageRoot with a job's directory 42 in it, and a place outside.
class StageRoot {
  public:
    StageRoot() {
        REQUIRE(::mkdtemp(base_.data()) != nullptr);
        REQUIRE(::chmod(base_.c_str(), 0755) == 0);
        for (const std::string& path : {root(), job(), outside()}) {
            REQUIRE(::mkdir(path.c_str(), 0755) == 0);
        }
        if (::geteuid() == 0) {
            REQUIRE(::chown(job().c_str(), kSomebody, kSomebody) == 0);
        }
        fd_.reset(::open(root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        REQUIRE(fd_);
    }
    StageRoot(const StageRoot&) = delete;
    StageRoot& operator=(const StageRoot&) = delete;
    ~StageRoot() {
        const UniqueFd base{::open(base_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        static_cast<void>(empty_directory(base.get()));
        ::rmdir(base_.c_str());
    }
    [[nodiscard]] std::string root() const { return base_ + "/root"; }
    [[nodiscard]] std::string job() const { return base_ + "/root/42"; }
    [[nodiscard]] std::string outside() const { return base_ + "/outside"; }
    [[nodiscard]] int fd() const { return fd_.get(); }

    /// Runs `script` in the job's directory as its user.
    void as_user(const std::string& script) const {
        SpawnWorld world;
        ProgramRequest program = SpawnWorld::shell("set -e; cd " + job() + "; " + script);
        if (::geteuid() == 0) {
            program.user = kUser;
        }
        REQUIRE(world.spawner().start(program, {}));
        world.next(Kind::started);
        REQUIRE(world.next(Kind::ended).status_text() == "exit status 0");
    }
    Status remove(std::vector<std::string> path = {"42"}) const {
        return remove_tree(fd_.get(), {.path = std::move(path), .user = kUser});
    }

  private:
    std::string base_ =
        (exists("/dev/shm") ? "/dev/shm" : "/tmp") + std::string{"/stagecast-remove-XXXXXX"};
    UniqueFd fd_;
};

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

namespace {

/// Job 42 has staged "x" and "y" for its time, below outside().
class TwoFiles : public StageRoot {
  public:
    TwoFiles() {
        REQUIRE(::chown(outside().c_str(), kSomebody, kSomebody) == 0);
        stage({"x", "y"});
    }
    void stage(const std::vector<std::string>& names) const {
        std::string script = "mkdir -p .stagecast; rm -f .stagecast/remove";
        for (const std::string& name : names) {
            const std::string path = outside() + '/' + name;
            script.append("; echo x >").append(path).append("; printf '").append(path);
            script.append("\\0' >>.stagecast/remove");
        }
        as_user(script);
    }
    /// As the daemon does it (daemon/cleaner.h).
    void end(const std::string& job,
             const UsedPaths& used,
             const std::vector<std::string>& heirs) const {
        keep_remove_list(fd(), {job});
        bequeath_kept_lists(fd(), {job}, heirs);
        REQUIRE(
            remove_tree(fd(), {.path = {job}, .user = kUser, .used = used, .heirs = heirs}));
    }
    [[nodiscard]] bool has(const std::string& name) const {
        return exists(outside() + '/' + name);
    }
    [[nodiscard]] std::string x() const { return outside() + "/x"; }
};

}  // namespace

TEST_CASE("what an heir uses stays until the last of them ends, and no list longer") {
    if (!is_root()) {
        return;
    }
    const TwoFiles world;
    world.end("42", {world.x()}, {"43", "44.step.1"});
    CHECK(world.has("x"));
    CHECK_FALSE(world.has("y"));
    CHECK(jobs_with_kept_lists(world.fd()) == std::set<std::uint32_t>{43, 44});
    CHECK(owner_of_kept_lists(world.fd(), {"43"})->uid == kSomebody);
    world.end("43", {world.x()}, {"44.step.1"});
    CHECK(kept_lists(world.fd(), {"44"}).size() == 1);
    CHECK(world.has("x"));
    world.end("44", {}, {});
    CHECK_FALSE(world.has("x"));
    CHECK_FALSE(exists(world.root() + "/.stagecast"));
}

TEST_CASE("where nothing is in use there is nothing to inherit") {
    if (!is_root()) {
        return;
    }
    const TwoFiles world;
    world.end("42", {"/elsewhere"}, {"43"});
    CHECK_FALSE(world.has("x"));
    CHECK_FALSE(exists(world.root() + "/.stagecast"));
}

TEST_CASE("the lists of a job's lives are told apart") {
    if (!is_root()) {
        return;
    }
    const TwoFiles world;
    world.end("42", {world.x()}, {"43"});
    REQUIRE(::mkdir(world.job().c_str(), 0755) == 0);
    REQUIRE(::chown(world.job().c_str(), kSomebody, kSomebody) == 0);
    world.stage({"y"});
    world.end("42", {world.x()}, {"43"});
    CHECK_FALSE(world.has("y"));
    CHECK(world.has("x"));
    world.end("43", {}, {});
    CHECK_FALSE(world.has("x"));
}

TEST_CASE("a file system that hangs keeps what lies there, and nothing else") {
    if (!is_root()) {
        return;
    }
    const StageRoot world;
    const std::string mount = world.outside() + "/hangs";
    REQUIRE(::mkdir(mount.c_str(), 0755) == 0);
    REQUIRE(::chown(mount.c_str(), kSomebody, kSomebody) == 0);
    const std::string script =
        "cd " + world.outside() + "; bindfs -f -o allow_other hangs hangs & echo $! >server; " +
        "for i in $(seq 500); do mountpoint -q hangs && exit; sleep 0.02; done; exit 1";
    REQUIRE(std::system(script.c_str()) == 0);  // NOLINT(concurrency-mt-unsafe)
    pid_t server = 0;
    std::ifstream{world.outside() + "/server"} >> server;
    REQUIRE(server > 1);
    world.as_user("mkdir -p .stagecast; touch file; printf '" + mount +
                  "/x\\0' >.stagecast/remove");
    keep_remove_list(world.fd(), {"42"});
    REQUIRE(::kill(server, SIGSTOP) == 0);
    const Status removed =
        remove_tree(world.fd(), {.path = {"42"}, .user = kUser}, std::chrono::seconds{1});
    CHECK(::umount2(mount.c_str(), MNT_FORCE | MNT_DETACH) == 0);
    REQUIRE(::kill(server, SIGKILL) == 0);
    CHECK_THAT(sentence_of(removed), Catch::Matchers::Contains("did not answer"));
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
