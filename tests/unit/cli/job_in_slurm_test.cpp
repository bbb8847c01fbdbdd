#include "stager/cli/common/job_in_slurm.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

constexpr const char* kRunning =
    "JobId=42 JobName=x AdminComment=stagecast: false JobState=FAILED\n"
    "   UserId=alice(2001) GroupId=alice(2001) MCS_label=N/A\n"
    "   JobState=RUNNING Reason=Prolog Dependency=(null)\n"
    "   AdminComment=site: blue ; stagecast: staging, after 30 s: 12.0 GB of 30.0 GB ; more \n"
    "   ReqNodeList=n7 ExcNodeList=(null)\n"
    "   NodeList=n[1-4]\n"
    "   Command=/home/alice/AdminComment=stagecast: x\n";

}  // namespace

TEST_CASE("Slurm's words of a job have its state, its nodes and the part of stagecast") {
    const JobInSlurm job = parse_job_in_slurm(kRunning);
    CHECK(job.state == "RUNNING");
    CHECK(job.node_list == "n[1-4]");
    CHECK(job.staging == "staging, after 30 s: 12.0 GB of 30.0 GB");
}

TEST_CASE("a job without nodes, or without a word of stagecast, has none") {
    const JobInSlurm job = parse_job_in_slurm(
        "JobId=42\n   JobState=PENDING\n   NodeList=(null)\n   AdminComment=a ; b\n");
    CHECK(job.state == "PENDING");
    CHECK(job.node_list.empty());
    CHECK(job.staging.empty());
    CHECK(parse_job_in_slurm("").state.empty());
    CHECK(
        parse_job_in_slurm("slurm_load_jobs error: Invalid job id specified\n").state.empty());
}
