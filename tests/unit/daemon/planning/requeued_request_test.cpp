// Does a node believe another's request only as far as slurmctld says the same?
#include "stager/daemon/planning/requeued_request.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

constexpr StageKey kRequeuedKey{.job_id = 42, .step_id = kWholeJob, .restart = 2};

StageRequest request_of_requeued() {
    StageRequest request;
    request.key = kRequeuedKey;
    request.uid = 2001;
    request.gid = 2002;
    request.node_name = "n0";
    return request;
}

SlurmJob job_in_slurm() {
    SlurmJob job;
    job.state = SlurmJobState::alive;
    job.restart_count = 2;
    job.uid = 2001;
    job.gid = 2002;
    job.node_list = "n[0-2]";
    return job;
}

bool is_confirmed(const SlurmJob& job, const std::string& node = "n1") {
    return confirmed_request(request_of_requeued(), "n0", node, SlurmAnswer{job}).has_value();
}

}  // namespace

TEST_CASE("a request is of the stage that it names, and of no other") {
    CHECK(is_request_of(request_of_requeued(), kRequeuedKey));
    StageKey other = kRequeuedKey;
    other.restart = 1;
    CHECK_FALSE(is_request_of(request_of_requeued(), other));
    CHECK_FALSE(is_request_of(std::nullopt, kRequeuedKey));
}

TEST_CASE("a confirmed request is announced in this node's name") {
    const auto request =
        confirmed_request(request_of_requeued(), "n0", "n1", SlurmAnswer{job_in_slurm()});
    REQUIRE(request);
    CHECK(request->node_name == "n1");
    CHECK(request->key == kRequeuedKey);
    CHECK(request->uid == 2001);
    SlurmJob job = job_in_slurm();
    job.state = SlurmJobState::suspended;
    CHECK(is_confirmed(job));
}

TEST_CASE("another life, owner or node, a job that has ended, or no answer confirms nothing") {
    SlurmJob job = job_in_slurm();
    SECTION("another life") {
        job.restart_count = 1;
    }
    SECTION("another user") {
        job.uid = 2003;
    }
    SECTION("another group") {
        job.gid = 2001;
    }
    SECTION("other nodes") {
        job.node_list = "n[2-3]";
    }
    SECTION("nodes without the sender") {
        job.node_list = "n[1-3]";
    }
    SECTION("it has ended") {
        job.state = SlurmJobState::ended;
    }
    CHECK_FALSE(is_confirmed(job));
    CHECK_FALSE(confirmed_request(
        request_of_requeued(), "n0", "n1", Result<SlurmAnswer>{Error{Blame::node, "silent"}}));
}
