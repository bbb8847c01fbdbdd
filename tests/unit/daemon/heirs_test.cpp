// Is it known who else uses what a stage left outside of its directory?
#include "stager/daemon/heirs.h"

#include "stager/control/spec_list.h"
#include "stager/daemon/job_directory.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <unistd.h>

namespace stage {
namespace {

constexpr Owner kUser{.uid = 2001, .gid = 2001};
constexpr EndingStage kJob42{.job_id = 42, .step_id = kWholeJob};

/// Jobs with verdicts, below a StageRoot.
class Node {
  public:
    void add(StageKey key, std::vector<std::string> paths, Owner owner = kUser) {
        REQUIRE(make_job_directory(root_->get(), key.job_id, owner));
        Verdict verdict;
        verdict.state = VerdictState::ok;
        verdict.stage_dir = root_place_.path() + '/' + std::to_string(key.job_id);
        verdict.paths = std::move(paths);
        REQUIRE(verdicts_->save(key, verdict));
    }
    RemoveRequest find(const EndingStage& ending, const std::vector<OpenStage>& open = {}) {
        RemoveRequest what{.path = directory_names(ending.job_id, ending.step_id),
                           .user = {.uid = kUser.uid, .gid = kUser.gid, .name = {}}};
        find_heirs(*verdicts_, open, root_->get(), ending, what);
        return what;
    }
    std::string own_path(const std::string& job) { return root_place_.path() + '/' + job; }

  private:
    Scratch root_place_;
    Scratch run_place_;
    Result<UniqueFd> root_ = open_stage_root(root_place_.path(), true);
    Result<VerdictStore> verdicts_ = VerdictStore::open(run_place_.path() + "/jobs");
};

}  // namespace

TEST_CASE("who of the user's was told of files elsewhere inherits what a job left there") {
    if (::geteuid() != 0) {
        return;
    }
    using Texts = std::vector<std::string>;
    Node node;
    node.add({.job_id = 42, .step_id = kWholeJob, .restart = 0}, {"/tmp/a"});
    node.add({.job_id = 42, .step_id = 1, .restart = 0}, {"/tmp/b"});
    node.add({.job_id = 43, .step_id = kWholeJob, .restart = 0}, {"/tmp/a", "", "/tmp/libs/"});
    node.add({.job_id = 44, .step_id = kWholeJob, .restart = 0}, {node.own_path("44/c")});
    node.add({.job_id = 45, .step_id = kWholeJob, .restart = 0}, {"/tmp/d"}, {2002, 2002});
    const RemoveRequest job = node.find(kJob42);
    CHECK(job.used == Texts{"/tmp/a", "/tmp/libs/"});
    CHECK(job.heirs == Texts{"43"});
    const RemoveRequest step = node.find({.job_id = 42, .step_id = 1});
    CHECK(step.used.size() == 3);
    CHECK_THAT(step.heirs, Catch::Matchers::UnorderedEquals(Texts{"42", "43"}));
}

TEST_CASE("a stage at work inherits, too, and uses what it asks for") {
    if (::geteuid() != 0) {
        return;
    }
    using Texts = std::vector<std::string>;
    Node node;
    node.add({.job_id = 42, .step_id = kWholeJob, .restart = 0}, {"/tmp/a"});
    node.add({.job_id = 43, .step_id = kWholeJob, .restart = 0}, {"/tmp/b"});
    const auto open = [](std::uint32_t job_id, std::uint32_t step_id, std::uint32_t uid) {
        return OpenStage{.key = {.job_id = job_id, .step_id = step_id, .restart = 0},
                         .uid = uid,
                         .paths = {"/tmp/" + std::to_string(job_id)}};
    };
    const RemoveRequest what = node.find(
        kJob42,
        {open(42, 3, kUser.uid), open(43, 1, kUser.uid), open(44, kWholeJob, kUser.uid + 1)});
    CHECK(what.used == Texts{"/tmp/43", "/tmp/b"});
    CHECK(what.heirs == Texts{"43.step.1", "43"});
}

TEST_CASE("who had a list of files staged may use anything") {
    if (::geteuid() != 0) {
        return;
    }
    Node node;
    node.add({.job_id = 42, .step_id = kWholeJob, .restart = 0}, {"/tmp/a"});
    node.add({.job_id = 43, .step_id = kWholeJob, .restart = 0}, {node.own_path("43")});
    const RemoveRequest what = node.find(kJob42);
    CHECK(what.used == std::vector<std::string>{"/"});
    CHECK(what.heirs == std::vector<std::string>{"43"});
}

TEST_CASE("what a stage asks for outside of its directory is seen in its specs") {
    using Texts = std::vector<std::string>;
    StageSpec spec;
    spec.source = "/home/a/x";
    const auto outside = [&] { return outside_of(*serialize(std::span{&spec, 1})); };
    CHECK(outside().empty());
    spec.destination = "below/x";
    CHECK(outside().empty());
    spec.destination = "/tmp//d/";
    spec.is_with_libraries = true;
    CHECK(outside() == Texts{"/tmp/d/x", "/tmp/d/x_libs"});
    spec = StageSpec{.source = "/home/a/list", .is_list = true};
    CHECK(outside() == Texts{"/"});
    CHECK(outside_of("no specs").empty());
}

TEST_CASE("however many heirs there are, the request can be read") {
    if (::geteuid() != 0) {
        return;
    }
    Node node;
    std::vector<OpenStage> open;
    for (std::uint32_t step = 0; step < 6000; ++step) {
        open.push_back({.key = {.job_id = 7, .step_id = step, .restart = 0},
                        .uid = kUser.uid,
                        .paths = {"/x"}});
    }
    const RemoveRequest what = node.find(kJob42, open);
    CHECK(what.used == std::vector<std::string>{"/"});
    CHECK(what.heirs.size() > 1000);
    CHECK(decode_spawn_request(encode_spawn_request(1, what)));
}

TEST_CASE("however many files others use, the request to remove one's own can be read") {
    if (::geteuid() != 0) {
        return;
    }
    Node node;
    const std::size_t length = GENERATE(2U, 200U);
    const std::vector<std::string> paths(length < 10 ? 100 : 10,
                                         '/' + std::string(length - 1, 'x'));
    for (std::uint32_t job_id = 43; job_id < 93; ++job_id) {
        node.add({.job_id = job_id, .step_id = kWholeJob, .restart = 0}, paths);
    }
    const RemoveRequest what = node.find(kJob42);
    CHECK(what.used == std::vector<std::string>{"/"});
    CHECK(what.heirs.size() == 50);
    const auto message = encode_spawn_request(1, what);
    CHECK(message.size() <= kSpawnRequestMax);
    CHECK(decode_spawn_request(message));
}

}  // namespace stage
