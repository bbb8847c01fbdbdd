// Do the lists of what lies elsewhere reach whoever uses it, and nobody longer?
#include "stager/spawn/kept_lists.h"

#include "stager/files/removal.h"
#include "tests/unit/spawn/stage_root.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <set>

using namespace stage;
using namespace stage::test;

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
