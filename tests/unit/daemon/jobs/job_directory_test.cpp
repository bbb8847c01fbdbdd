#include "stager/daemon/jobs/job_directory.h"

#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

using namespace stage;

namespace {

constexpr Owner kJobUser{.uid = 2001, .gid = 2001};
constexpr bool kAllowRam = true;

struct stat status_of(const std::string& path) {
    struct stat status {};
    static_cast<void>(::lstat(path.c_str(), &status));
    return status;
}

std::string refusal(const std::string& path) {
    const auto root = open_stage_root(path, kAllowRam);
    return root ? "taken" : root.error().sentence();
}

}  // namespace

TEST_CASE("a StageRoot is a directory of root's that no other user can change", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    CHECK(refusal(scratch.directory("good", 0755)) == "taken");
    CHECK(refusal(scratch.path() + "/made") == "taken");
    CHECK((status_of(scratch.path() + "/made").st_mode & (S_IFMT | 0777U)) ==
          (S_IFDIR | 0711U));
    CHECK(refusal(scratch.path() + "//good/") == "taken");

    CHECK_THAT(refusal(scratch.directory("his", 0755, 2001)), Catch::Contains("belong"));
    CHECK_THAT(refusal(scratch.directory("open", 0777)), Catch::Contains("written"));
    CHECK_THAT(refusal(scratch.directory("sticky", 01777)), Catch::Contains("written"));
    scratch.link("good", "link");
    CHECK_THAT(refusal(scratch.path() + "/link"), Catch::Contains("link"));
    CHECK_THAT(refusal(scratch.path() + "/link/below"), Catch::Contains("link"));
    CHECK_THAT(refusal(scratch.path() + "/open/below"), Catch::Contains("written"));
    CHECK(refusal(scratch.path() + "/sticky/below") == "taken");
    CHECK_THAT(refusal(scratch.path() + "/none/below"), Catch::Contains("No such file"));
    CHECK_THAT(refusal("relative"), Catch::Contains("absolute"));
    CHECK_THAT(refusal(""), Catch::Contains("absolute"));
}

TEST_CASE("a StageRoot that only root can enter, or below such a directory, leads to no job") {
    const Scratch scratch;
    static_cast<void>(::chmod(scratch.path().c_str(), 0755));
    CHECK(check_users_way(scratch.directory("open", 0711)));
    CHECK(check_users_way(scratch.directory("groups", 0710) + "/"));
    for (const std::string below : {"", "/", "/below", "/below/"}) {
        const Status refused = check_users_way(scratch.directory("closed", 0700) + below);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().sentence() == "StageRoot: " + scratch.path() +
                                                "/closed can be entered by root only; "
                                                "chmod go+x it");
    }
}

TEST_CASE("a StageRoot in memory needs the site's word", "[root]") {
    if (!is_root() || ::access("/dev/shm", W_OK) != 0) {
        return;
    }
    const std::string path = "/dev/shm/stagecast-unit." + std::to_string(::getpid());
    const auto refused = open_stage_root(path, !kAllowRam);
    CHECK_FALSE(refused);
    CHECK(open_stage_root(path, kAllowRam));
    static_cast<void>(::rmdir(path.c_str()));
}

TEST_CASE("a job's directory is the user's, and another user's of that number is set aside",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    const auto root = open_stage_root(scratch.path(), kAllowRam);
    REQUIRE(root);
    REQUIRE(make_job_directory(root->get(), 42, kJobUser));
    const struct stat made = status_of(scratch.path() + "/42");
    CHECK(made.st_uid == kJobUser.uid);
    CHECK(made.st_gid == kJobUser.gid);
    CHECK((made.st_mode & 07777) == 0700);
    CHECK(make_job_directory(root->get(), 42, kJobUser));
    CHECK(owner_of(root->get(), 42)->uid == kJobUser.uid);
    CHECK_FALSE(owner_of(root->get(), 43));

    const Owner other{.uid = 2002, .gid = 2002};
    scratch.link("/etc", "42/secret");
    CHECK(make_job_directory(root->get(), 42, other));
    CHECK(owner_of(root->get(), 42)->uid == other.uid);
    CHECK(::access((scratch.path() + "/42/secret").c_str(), F_OK) != 0);
    CHECK(make_job_directory(root->get(), 42, kJobUser));
    CHECK(status_of(scratch.path() + "/.stagecast/left.42").st_uid == kJobUser.uid);
    CHECK(status_of(scratch.path() + "/.stagecast/left.42.1").st_uid == other.uid);
    CHECK((status_of(scratch.path() + "/.stagecast").st_mode & 07777) == 0700);
    scratch.link("42", "44");
    CHECK(make_job_directory(root->get(), 44, kJobUser).error().cause() == EEXIST);

    CHECK(numbered_directories(root->get()) == std::vector<std::string>{"42"});
}

TEST_CASE("what a user mounts over a job's directory is neither entered nor taken for its end",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    const std::string answer = test::in_child([&]() -> std::string {
        const auto before = open_stage_root(scratch.path(), kAllowRam);
        if (!before || !make_job_directory(before->get(), 42, kJobUser) ||
            !test::mount_small(scratch.path() + "/42", 1U << 20U)) {
            return "no mounts";
        }
        const auto root = open_stage_root(scratch.path(), kAllowRam);  // As it is there now.
        const Result<Owner> owner = owner_of(root->get(), 42);
        return (is_gone(owner) ? "gone" : owner.error().sentence()) + "; " +
               make_job_directory(root->get(), 42, kJobUser).error().sentence() + "; " +
               make_step_directory(root->get(), 42, 3, kJobUser).error().sentence() + "; " +
               std::to_string(numbered_directories(root->get()).size());
    });
    if (answer != "no mounts") {
        CHECK(answer ==
              "42 is a mount point; unmount it; "
              "the job's directory: 42 is a mount point; unmount it; "
              "the job's directory: 42 is a mount point; unmount it; 1");
    }
}

TEST_CASE("a step's directory is made with the user's rights, below what is the user's",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    static_cast<void>(::chmod(scratch.path().c_str(), 0755));
    const auto root = open_stage_root(scratch.path(), kAllowRam);
    REQUIRE(root);
    CHECK_FALSE(make_step_directory(root->get(), 42, 3, kJobUser));  // No job.
    REQUIRE(make_job_directory(root->get(), 42, kJobUser));
    REQUIRE(make_step_directory(root->get(), 42, 3, kJobUser));
    CHECK(status_of(scratch.path() + "/42/step.3").st_uid == kJobUser.uid);
    CHECK(make_step_directory(root->get(), 42, 3, kJobUser));

    // A link that the user has made there is not followed, and its target's owner stays.
    const std::string elsewhere = scratch.directory("elsewhere", 0755);
    scratch.link(elsewhere, "42/step.4");
    const Status refused = make_step_directory(root->get(), 42, 4, kJobUser);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().blame() == Blame::user);
    CHECK(status_of(elsewhere).st_uid == 0);
    // And root is root again.
    CHECK(make_job_directory(root->get(), 50, kJobUser));
    CHECK(directory_names(42, 3) == std::vector<std::string>{"42", "step.3"});
    CHECK(directory_names(42, kWholeJob) == std::vector<std::string>{"42"});
}
