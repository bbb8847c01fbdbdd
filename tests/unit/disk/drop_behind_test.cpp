// Tests that a long file's pages are limited, and that a file that fits stays in memory.
#include "stager/disk/drop_behind.h"

#include "stager/disk/page_room.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::object_of;
using test::resident;
using test::said;
using test::Scratch;
using test::Spec;

constexpr std::uint64_t kStep = 1U << 20U;
constexpr std::uint64_t kSize = 3 * DropBehind::kWindowBytes;

void write_through(int fd, DropBehind& behind) {
    const std::string step(kStep, 'x');
    for (std::uint64_t at = 0; at < kSize; at += kStep) {
        REQUIRE(::pwrite(fd, step.data(), kStep, static_cast<off_t>(at)) ==
                static_cast<ssize_t>(kStep));
        behind.wrote(fd, at, kStep);
    }
}

}  // namespace

TEST_CASE("of a file that does not fit only a window stays in memory, written or read") {
    const Scratch scratch;
    const UniqueFd fd{::open(scratch.path("x").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    REQUIRE(fd);
    if (test::is_on_tmpfs(fd.get())) {
        WARN("the scratch directory is in memory: nothing can leave it");
        return;
    }
    constexpr std::uint64_t kRoom = 8 * kStep;
    DropBehind behind{kRoom};
    write_through(fd.get(), behind);
    CHECK(resident(fd.get(), 0, kRoom) == kRoom);
    CHECK(resident(fd.get(), kRoom, kSize) <= DropBehind::kWindowBytes);
    behind.end(fd.get());
    CHECK(resident(fd.get(), kRoom, kSize) == 0);

    std::string step(kStep, '\0');
    for (std::uint64_t at = 0; at < kSize; at += kStep) {
        REQUIRE(::pread(fd.get(), step.data(), kStep, static_cast<off_t>(at)) ==
                static_cast<ssize_t>(kStep));
        REQUIRE(step == std::string(kStep, 'x'));
        behind.was_read(fd.get(), at, kStep);
    }
    behind.end(fd.get());
    CHECK(resident(fd.get(), 0, kRoom) == kRoom);
    CHECK(resident(fd.get(), kRoom, kSize) < kSize / 2);  // the kernel reads ahead
}

TEST_CASE("a file that fits is left to the kernel") {
    const Scratch scratch;
    const UniqueFd fd{::open(scratch.path("x").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    REQUIRE(fd);
    DropBehind behind{kAllPages};
    write_through(fd.get(), behind);
    behind.end(fd.get());
    CHECK(resident(fd.get(), 0, kSize) == kSize);
}

TEST_CASE("a write error is reported to the process that waited, other errors are ignored") {
    const Scratch scratch;
    const UniqueFd fd{::open(scratch.path("x").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    REQUIRE(fd);
    int calls = 0;
    const int cause = GENERATE(EIO, ENOSPC, EDQUOT, ESPIPE, EINVAL, ENOSYS);
    CAPTURE(cause);
    const bool is_lost = cause == EIO || cause == ENOSPC || cause == EDQUOT;
    DropBehind behind{0, [&](int, std::uint64_t, std::uint64_t, unsigned) {
                          // The kernel says it once; of two causes the first counts.
                          ++calls;
                          return calls == 2 ? cause : calls == 3 ? EIO : 0;
                      }};
    behind.wrote(fd.get(), 0, kStep);
    CHECK(behind.cause() == 0);
    behind.wrote(fd.get(), kStep, kStep);
    CHECK(behind.cause() == (is_lost ? cause : 0));
    behind.end(fd.get());
    CHECK(behind.cause() == (is_lost ? cause : EIO));
}

TEST_CASE("a disk that fails after a write fails the stage, even without a sync") {
    const Scratch from;
    const Scratch to;
    const std::string bytes = test::noise(12U << 20U);
    from.write("tree/small", "x");
    const std::string below = GENERATE("tree/long", "file");
    const std::string source = from.write(below, bytes + bytes + bytes + bytes);
    const std::string top = below == "file" ? source : from.path("tree");
    const std::string answer = test::in_child([&]() -> std::string {
        const std::string disk = to.path("disk");
        if (!test::mount_lying(disk, 8U << 20U)) {
            return "no mounts";
        }
        const std::vector<Spec> specs{{.source = top, .root = disk, .below = "x"}};
        SinkConfig config = test::sink_config(specs);
        config.page_room = 0;
        FileSink sink{std::move(config)};
        return said(test::deliver(object_of(specs), sink, 1));
    });
    if (answer == "no mounts") {
        WARN("needs root and a loop device for a file system that fails");
        return;
    }
    CHECK_THAT(answer, Contains(to.path("disk/x")));
    CHECK_THAT(answer, Contains("Input/output error") || Contains("No space left"));
}

TEST_CASE("files share one limit, in their order") {
    PageShares shares{100};
    CHECK(shares.take(30) == 100);
    CHECK(shares.take(60) == 70);
    CHECK(shares.take(60) == 10);
    CHECK(shares.take(1) == 0);
    PageShares all{kAllPages};
    CHECK(all.take(1U << 30U) == kAllPages);
    CHECK(all.take(1) == kAllPages);
}

TEST_CASE("half of the free memory may be used, of the node and of its control groups") {
    const Scratch root;
    CHECK(page_room(root.path()) == kAllPages);
    root.write("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:     8000 kB\n");
    CHECK(page_room(root.path()) == 4000 * 1024);
    SECTION("version 2: the least of the groups around") {
        root.write("proc/self/cgroup", "0::/jobs/one\n");
        root.write("sys/fs/cgroup/jobs/one/memory.max", "max\n");
        CHECK(page_room(root.path()) == 4000 * 1024);
        root.write("sys/fs/cgroup/jobs/memory.max", "1000000\n");
        CHECK(page_room(root.path()) == 500000);
    }
    SECTION("version 1") {
        root.write("proc/self/cgroup", "3:cpu:/x\n2:hugetlb,memory:/jobs\n0::/\n");
        root.write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "3000000\n");
        root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        CHECK(page_room(root.path()) == 1500000);
    }
    SECTION("malformed values limit nothing") {
        root.write("proc/self/cgroup", "0:\n::\nx\n0::\n1:memory:/..\n");
        CHECK(page_room(root.path()) == 4000 * 1024);
    }
}

}  // namespace stage
