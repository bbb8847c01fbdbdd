// Does a requeued job have its files where no prolog announces it?
#include "stager/daemon/stage/registry.h"
#include "tests/unit/daemon/stage/registry_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>

namespace stage {
namespace {

/// What slurmctld knows of the job: of kUnknownUid, in its second life.
int answer_for_slurm(int fd) {
    ByteWriter out;
    out.blob(encode_slurm_answer(SlurmAnswer{SlurmJob{.state = SlurmJobState::alive,
                                                      .restart_count = 1,
                                                      .word = "RUNNING",
                                                      .node_list = "n[0-1]",
                                                      .uid = kUnknownUid,
                                                      .gid = kUnknownUid}}));
    std::array<std::byte, 4096> question{};
    const bool is_asked = ::recv(fd, question.data(), question.size(), 0) > 0;
    return is_asked && ::send(fd, out.view().data(), out.size(), MSG_NOSIGNAL) > 0 ? 0 : 1;
}

}  // namespace

// slurmd of 22.05 leaves out the prolog of a requeued job whose earlier life it remembers.
TEST_CASE("a requeued job that no prolog announces is staged by the plan, as slurmctld says",
          "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world{{[](int) { return 0; }, answer_for_slurm}};
    const auto announcement = RegistryWorld::announcement();
    SECTION("it is the same job") {
        world.set_up_requeued(announcement);
        world.world.run_until([&] {
            const Stage* stage = world.registry.find(kRequeued);
            return stage != nullptr && stage->is_announced();
        });
    }
    SECTION("another user, whatever the first node says, has nothing staged here") {
        StageRequest forged = announcement;
        forged.uid = 0;
        world.set_up_requeued(forged);
        CHECK_THAT(world.next<FailedMessage>().failures.at(0).sentence,
                   Catch::Contains("has not announced the job"));
        CHECK_FALSE(world.registry.find(kRequeued)->is_announced());
    }
}

TEST_CASE("the job's first node stages a requeued job by the request of a node that waits",
          "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world{{[](int) { return 0; }, answer_for_slurm}};
    world.world.config.tree_width = 16;
    world.registry.on_request(EndRequest{.job_id = kKey.job_id}, [](const auto&) {});
    AskMessage question{kRequeued, RegistryWorld::announcement()};
    question.request->key = kRequeued;
    question.request->node_name = "n0";
    SECTION("slurmctld says the same") {
        world.question(question);
        CHECK(world.next<TellMessage>().word == TellWord::queued);
        CHECK(world.registry.tell(kRequeued).word != TellWord::unannounced);
    }
    SECTION("another user, whatever the other node says, has nothing staged here") {
        question.request->uid = 0;
        world.question(question);
        CHECK(world.next<TellMessage>().word == TellWord::unannounced);
        CHECK(world.registry.find(kRequeued) == nullptr);
    }
    SECTION("a request of another stage is none") {
        question.request->key.job_id = 8;
        world.question(question);
        CHECK(world.next<TellMessage>().word == TellWord::unannounced);
    }
}

// Nothing here would keep its script from running without its files.
TEST_CASE("a requeued job is not staged by another's request where it has not run before",
          "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world{{[](int) { return 0; }, answer_for_slurm}};
    AskMessage question{kRequeued, RegistryWorld::announcement()};
    question.request->key = kRequeued;
    world.question(question);
    CHECK(world.next<TellMessage>().word == TellWord::unannounced);
    CHECK(world.registry.find(kRequeued) == nullptr);
}

TEST_CASE("a job that a step announces is of the life that slurmctld tells", "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world{{[](int) { return 0; }, answer_for_slurm}};
    world.world.config.tree_width = 16;
    StageRequest late = RegistryWorld::announcement();
    late.is_late = true;
    world.ask(late);
    world.world.run_until([&] { return world.registry.find(kRequeued) != nullptr; });
    CHECK(world.registry.find(kKey) == nullptr);
}

TEST_CASE("while the files of a job's last run go, its next one does not hear of them",
          "[root]") {
    if (!is_root()) {
        return;
    }
    RegistryWorld world;
    world.store(VerdictState::ok, "");
    const QueryRequest query{{.job_id = kKey.job_id, .restart = kLatestLife}};
    CHECK(world.ask(query)->state == VerdictState::ok);
    world.registry.on_request(EndRequest{.job_id = kKey.job_id}, [](const auto&) {});
    CHECK(world.ask(query)->state == VerdictState::unknown);
}

}  // namespace stage
