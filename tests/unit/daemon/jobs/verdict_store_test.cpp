#include "stager/daemon/jobs/verdict_store.h"

#include "tests/unit/root.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>

using namespace stage;

namespace {
constexpr StageKey kKey{.job_id = 42, .step_id = kWholeJob, .restart = 1};

Verdict some_verdict() {
    return {.state = VerdictState::failed,
            .blame = Blame::user,
            .sentence = "node n1: /x: No space left on device",
            .stage_dir = "/var/spool/stagecast/42",
            .paths = {"/var/spool/stagecast/42/x", "/tmp/y"}};
}
}  // namespace

TEST_CASE("a verdict is there again after the daemon's death") {
    const Scratch scratch;
    {
        auto store = VerdictStore::open(scratch.path() + "/jobs");
        REQUIRE(store);
        CHECK_FALSE(store->load(kKey));
        REQUIRE(store->save(kKey, Verdict{}));
        REQUIRE(store->save(kKey, some_verdict()));
    }
    auto store = VerdictStore::open(scratch.path() + "/jobs");
    REQUIRE(store);
    CHECK(store->load(kKey) == some_verdict());
    CHECK_FALSE(store->load({42, kWholeJob, 0}));
    CHECK(store->all() == std::vector<StageKey>{kKey});
}

TEST_CASE("the node to blame is restored, too") {
    const Scratch scratch;
    auto store = VerdictStore::open(scratch.path() + "/jobs");
    REQUIRE(store);
    REQUIRE(store->save(kKey, some_verdict()));
    CHECK_FALSE(store->culprit_of(kKey));
    REQUIRE(store->save(kKey, some_verdict(), Rank{3}));
    CHECK(store->culprit_of(kKey) == Rank{3});
    CHECK(store->load(kKey) == some_verdict());
}

TEST_CASE("a verdict is forgotten") {
    const Scratch scratch;
    auto store = VerdictStore::open(scratch.path() + "/jobs");
    REQUIRE(store);
    REQUIRE(store->save(kKey, some_verdict()));
    CHECK(store->all().size() == 1);
    store->forget(kKey);
    CHECK_FALSE(store->load(kKey));
    CHECK(store->all().empty());
}

TEST_CASE("a malformed file is no verdict, and another user's directory is refused") {
    const Scratch scratch;
    auto store = VerdictStore::open(scratch.path() + "/jobs");
    REQUIRE(store);
    std::ofstream{scratch.path() + "/jobs/42.4294967295.1"} << "garbage";
    std::ofstream{scratch.path() + "/jobs/42.1.2.3"} << "x";
    std::ofstream{scratch.path() + "/jobs/README"} << "x";
    CHECK_FALSE(store->load(kKey));
    CHECK(store->all() == std::vector<StageKey>{kKey});

    scratch.directory("open", 0777);
    CHECK_FALSE(VerdictStore::open(scratch.path() + "/open"));
    scratch.link("jobs", "link");
    CHECK_FALSE(VerdictStore::open(scratch.path() + "/link"));
}

namespace {

/// A small file system for a store.
class SmallDisk {
  public:
    explicit SmallDisk(std::string path) : path_{std::move(path)} {
        is_mounted_ = ::mkdir(path_.c_str(), 0700) == 0 &&
                      ::mount("none", path_.c_str(), "tmpfs", 0, "size=64k,mode=700") == 0;
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    ~SmallDisk() { static_cast<void>(::umount2(path_.c_str(), MNT_DETACH)); }
    [[nodiscard]] bool is_mounted() const { return is_mounted_; }
    void fill() const {
        std::ofstream file{path_ + "/fill"};
        file << std::string(1U << 20U, 'x');
    }
    void empty() const { REQUIRE(::unlink((path_ + "/fill").c_str()) == 0); }

  private:
    std::string path_;
    bool is_mounted_ = false;
};

}  // namespace

TEST_CASE("what a full RunDir does not take is known, and is written when there is room",
          "[root]") {
    if (!stage::is_root()) {
        return;
    }
    const Scratch scratch;
    const std::string path = scratch.path() + "/jobs";
    const SmallDisk disk{path};
    if (!disk.is_mounted()) {
        WARN("skipped: no mounts here");
        return;
    }
    auto store = VerdictStore::open(path);
    REQUIRE(store);
    const StageKey other{.job_id = 43, .step_id = 2, .restart = 0};
    REQUIRE(store->save(kKey, Verdict{}));
    disk.fill();
    CHECK_FALSE(store->save(kKey, some_verdict(), Rank{3}));
    disk.fill();  // What was stored for the key has gone.
    CHECK_FALSE(store->save(other, some_verdict()));
    CHECK_FALSE(store->save_root(44, "/stages"));
    CHECK(store->load(kKey) == some_verdict());
    CHECK(store->culprit_of(kKey) == Rank{3});
    CHECK(store->all().size() == 2);
    CHECK(store->root_of(44) == "/stages");
    CHECK(store->rooted() == std::vector<std::uint32_t>{44});
    // The next daemon must not take an earlier record for the truth.
    CHECK_FALSE(VerdictStore::open(path)->load(kKey));
    store->forget(other);
    CHECK_FALSE(store->load(other));
    disk.empty();
    REQUIRE(store->save_root(45, "/stages"));
    CHECK(VerdictStore::open(path)->load(kKey) == some_verdict());
    CHECK(VerdictStore::open(path)->root_of(44) == "/stages");
    CHECK(VerdictStore::open(path)->all() == std::vector<StageKey>{kKey});
}

TEST_CASE("what can't be written is bounded", "[root]") {
    if (!stage::is_root()) {
        return;
    }
    const Scratch scratch;
    const std::string path = scratch.path() + "/jobs";
    const SmallDisk disk{path};
    if (!disk.is_mounted()) {
        WARN("skipped: no mounts here");
        return;
    }
    auto store = VerdictStore::open(path);
    REQUIRE(store);
    disk.fill();
    Verdict verdict = some_verdict();
    verdict.paths.assign(10, std::string(4000, 'x'));
    REQUIRE(fits(verdict));
    for (std::uint32_t job = 0; job < 600; ++job) {
        CHECK_FALSE(store->save({.job_id = job, .step_id = 0, .restart = 0}, verdict));
    }
    CHECK(store->all().size() < 450);
    CHECK(store->all().size() > 350);
}
