#include "transport/run/object/disk_jobs.h"

#include <catch2/catch.hpp>

#include <string>

namespace stage {
namespace {

using core::OperationKind;
using core::Verdict;

DiskJob job_of(OperationKind kind, std::uint32_t block) {
    DiskJob job;
    job.operation.kind = kind;
    job.operation.ticket = core::Ticket{block + 1};
    job.operation.block = BlockIndex{block};
    return job;
}

/// What a disk gives back for the operation.
Performed done(const DiskJob& job, Verdict verdict = Verdict::good) {
    Performed performed;
    performed.completion.ticket = job.operation.ticket;
    performed.completion.kind = job.operation.kind;
    performed.completion.block = job.operation.block;
    performed.completion.verdict = verdict;
    return performed;
}

Performed refused(const DiskJob& job) {
    Performed performed = done(job);
    performed.again = true;
    return performed;
}

void add_stores(DiskJobs& jobs, std::initializer_list<std::uint32_t> blocks) {
    for (const std::uint32_t block : blocks) {
        jobs.add(job_of(OperationKind::store, block));
    }
}

/// Performs what is next, as a sink with a manifest of some blocks, and lists the blocks in the
/// order in which they were tried; "?": it was deferred.
std::string run(DiskJobs& jobs, std::uint32_t manifest_blocks, int most = 100) {
    std::string tried;
    std::uint32_t placed = 0;
    for (int i = 0; i < most && jobs.has_next(); ++i) {
        const DiskJob job = jobs.next();
        const std::uint32_t block = job.operation.block.value();
        const bool waits = block < manifest_blocks ? block > placed : placed < manifest_blocks;
        placed += !waits && block < manifest_blocks ? 1 : 0;
        static_cast<void>(jobs.performed(waits ? refused(job) : done(job)));
        tried += std::to_string(block) + (waits ? "? " : " ");
    }
    return tried;
}

std::string taken(DiskJobs& jobs) {
    std::string blocks;
    for (const core::Completion& each : jobs.take()) {
        blocks +=
            std::to_string(each.block.value()) + (each.verdict == Verdict::good ? " " : "! ");
    }
    return blocks;
}

TEST_CASE("a disk's operations are performed one at a time, in their order") {
    DiskJobs jobs{4};
    CHECK_FALSE(jobs.has_next());
    jobs.add(job_of(OperationKind::verify, 7));
    jobs.add(job_of(OperationKind::load, 3));
    const DiskJob first = jobs.next();
    CHECK(first.operation.block == BlockIndex{7});
    CHECK_FALSE(jobs.has_next());
    CHECK(jobs.performed(done(first)));
    CHECK(jobs.next().operation.block == BlockIndex{3});
}

TEST_CASE("of several completions that were not taken the first makes an event") {
    DiskJobs jobs{4};
    add_stores(jobs, {0, 1, 2});
    CHECK(jobs.performed(done(jobs.next())));
    CHECK_FALSE(jobs.performed(done(jobs.next())));
    CHECK(taken(jobs) == "0 1 ");
    CHECK(taken(jobs).empty());
    CHECK(jobs.performed(done(jobs.next())));
}

TEST_CASE("what waits for its place is tried before all others, until none is placed") {
    DiskJobs jobs{4};
    SECTION("for the manifest") {
        add_stores(jobs, {3, 2, 0, 1});
        CHECK(run(jobs, 1) == "3? 2? 0 3 2 1 ");
        CHECK(taken(jobs) == "0 3 2 1 ");
    }
    SECTION("for the second block of a manifest") {
        add_stores(jobs, {2, 1, 0, 3});
        CHECK(run(jobs, 2) == "2? 1? 0 2? 1 2 3 ");
    }
    SECTION("not again before another block has come") {
        add_stores(jobs, {3, 2, 1});
        CHECK(run(jobs, 1) == "3? 2? 1? ");
        jobs.add(job_of(OperationKind::load, 9));
        CHECK(jobs.next().operation.block == BlockIndex{9});
    }
    SECTION("a turn may take what is there between two of them") {
        add_stores(jobs, {2, 0});
        CHECK(run(jobs, 1, 2) == "2? 0 ");
        CHECK(taken(jobs) == "0 ");
        CHECK(jobs.performed(done(jobs.next())));
        CHECK(taken(jobs) == "2 ");
    }
}

TEST_CASE("more of them than the bound are given back to be fetched again") {
    DiskJobs jobs{2};
    add_stores(jobs, {5, 6, 7, 8});
    CHECK(run(jobs, 1) == "5? 6? 7? 8? ");
    CHECK(taken(jobs) == "7! 8! ");
    add_stores(jobs, {0});
    CHECK(run(jobs, 1) == "0 5 6 ");
    CHECK(taken(jobs) == "0 5 6 ");
}

TEST_CASE("an operation that fails keeps none of the others back, and places nothing") {
    DiskJobs jobs{4};
    add_stores(jobs, {2, 0, 1});
    static_cast<void>(jobs.performed(refused(jobs.next())));
    static_cast<void>(jobs.performed(done(jobs.next(), Verdict::failed)));
    CHECK(jobs.next().operation.block == BlockIndex{1});
}

TEST_CASE("nothing begins after the stop, and what had begun completes") {
    DiskJobs jobs{4};
    add_stores(jobs, {3, 0, 1});
    static_cast<void>(jobs.performed(refused(jobs.next())));
    const DiskJob last = jobs.next();
    jobs.stop();
    CHECK(jobs.is_stopped());
    CHECK(jobs.performed(done(last)));
    CHECK_FALSE(jobs.has_next());
    jobs.add(job_of(OperationKind::load, 4));
    CHECK_FALSE(jobs.has_next());
    CHECK(taken(jobs) == "0 ");
}

TEST_CASE("a load that waits for another session lets others pass and keeps its turn") {
    DiskJobs jobs{4};
    for (const std::uint32_t block : {5U, 6U, 1U}) {
        jobs.add(job_of(OperationKind::load, block));
    }
    CHECK_FALSE(jobs.performed(refused(jobs.next())));
    CHECK_FALSE(jobs.performed(refused(jobs.next())));
    CHECK_FALSE(jobs.is_waiting());  // Block 1 is still to be read.
    CHECK(jobs.performed(done(jobs.next())));
    CHECK_FALSE(jobs.is_waiting());  // And to be taken.
    CHECK(taken(jobs) == "1 ");
    CHECK(jobs.is_waiting());
    CHECK_FALSE(jobs.has_next());
    SECTION("still waiting, it is tried alone") {
        jobs.try_waiting();
        const DiskJob first = jobs.next();
        CHECK(first.operation.block == BlockIndex{5});
        CHECK_FALSE(jobs.performed(refused(first)));
        CHECK_FALSE(jobs.has_next());
        CHECK(jobs.is_waiting());
    }
    jobs.try_waiting();
    for (const std::uint32_t block : {5U, 6U}) {
        REQUIRE(jobs.has_next());
        const DiskJob next = jobs.next();
        CHECK(next.operation.block == BlockIndex{block});
        static_cast<void>(jobs.performed(done(next)));
    }
    CHECK(taken(jobs) == "5 6 ");
    CHECK_FALSE(jobs.has_waiting());
    CHECK_FALSE(jobs.has_next());
}

TEST_CASE("an end that waits is tried again, and is never returned as bad") {
    DiskJobs jobs{0};
    jobs.add(job_of(OperationKind::finish, 0));
    for (int i = 0; i < 3; ++i) {
        CHECK_FALSE(jobs.performed(refused(jobs.next())));
        CHECK(jobs.is_waiting());
        CHECK(jobs.take().empty());
        jobs.try_waiting();
    }
    CHECK(jobs.performed(done(jobs.next())));
    CHECK(jobs.take().size() == 1);
}

}  // namespace
}  // namespace stage
