// Is a requeued job kept off a node only where another one can take its place?
#include "stager/slurm/stand_ins.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

NodeFacts node(const std::string& name) {
    return {.name = name,
            .partitions = {"batch", "all"},
            .cpus = 64,
            .memory_mb = 256'000,
            .features = "skylake",
            .gres = "gpu:4",
            .is_up = true};
}

const JobFacts kJob{.partitions = {"short", "batch"}, .nodes = {"n1", "n2"}, .excluded = {}};

TEST_CASE("a node like the one at fault, that the job may have, stands in for it") {
    CHECK(have_stand_ins({node("n1"), node("n2"), node("n3")}, kJob, {"n2"}));
    CHECK_FALSE(have_stand_ins({node("n1"), node("n2")}, kJob, {"n2"}));
    CHECK_FALSE(have_stand_ins({node("n1"), node("n3")}, kJob, {"n2"}));
    CHECK_FALSE(have_stand_ins({node("n1"), node("n2"), node("n3")}, kJob, {}));
    CHECK_FALSE(have_stand_ins({node("n1"), node("n2"), node("n3")}, kJob, {"n1", "n2"}));
    CHECK(have_stand_ins({node("n1"), node("n2"), node("n3"), node("n4")}, kJob, {"n1", "n2"}));
}

TEST_CASE(
    "a node that is away, excluded, of another partition, smaller or different does not") {
    NodeFacts other = node("n3");
    JobFacts job = kJob;
    SECTION("away") {
        other.is_up = false;
    }
    SECTION("excluded") {
        job.excluded = {"n3"};
    }
    SECTION("of another partition") {
        other.partitions = {"debug"};
    }
    SECTION("with less memory") {
        other.memory_mb = 128'000;
    }
    SECTION("with fewer processors") {
        other.cpus = 32;
    }
    SECTION("with other features") {
        other.features = "milan";
    }
    SECTION("with other resources") {
        other.gres = "";
    }
    SECTION("but the job names its nodes") {
        job.names_nodes = true;
    }
    SECTION("but the job has a reservation") {
        job.has_reservation = true;
    }
    CHECK_FALSE(have_stand_ins({node("n1"), node("n2"), other}, job, {"n2"}));
}

}  // namespace
}  // namespace stage
