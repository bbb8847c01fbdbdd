#include "transport/run/object/spill_file.h"

#include "tests/unit/files/scratch.h"
#include "transport/base/units.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <thread>

namespace stage {
namespace {

TEST_CASE("buffers of a spill file are apart, and leave no name behind") {
    const test::Scratch scratch;
    if (!UniqueFd{::open(scratch.path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)}) {
        WARN("this disk has no files without a name");
        return;
    }
    SpillFile spill{scratch.path(), 20};
    CHECK(spill.bytes() == 0);
    std::set<std::byte*> taken;
    for (int i = 0; i < 20; ++i) {
        std::byte* const buffer = spill.take();
        REQUIRE(buffer != nullptr);
        std::memset(buffer, i + 1, kBlockBytes);
        taken.insert(buffer);
    }
    CHECK(taken.size() == 20);
    CHECK(spill.take() == nullptr);
    CHECK(spill.bytes() >= 20 * kBlockBytes);
    CHECK(scratch.names().empty());
    for (std::byte* const buffer : taken) {
        CHECK(buffer[0] == buffer[kBlockBytes - 1]);
    }
}

/// The calling thread's fallocate() fails for this reason from now on.
bool refuse_reservations(int reason) {
    const auto refused = SECCOMP_RET_ERRNO | static_cast<unsigned>(reason);
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, refused),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{.len = std::size(steps), .filter = steps};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// What this process has open that lies in the directory and has no name.
std::string nameless_file(const std::string& directory) {
    for (int fd = 3; fd < 1024; ++fd) {
        const std::string link = "/proc/self/fd/" + std::to_string(fd);
        char to[4096] = {};
        if (::readlink(link.c_str(), to, sizeof to - 1) > 0 &&
            std::string_view{to}.starts_with(directory + "/#")) {
            return link;
        }
    }
    return {};
}

TEST_CASE("where the user's quota ends a spill file has no more buffers, and keeps no part") {
    const test::Scratch scratch;
    SpillFile spill{scratch.path(), 100};
    if (spill.take() == nullptr) {
        WARN("this disk has no room for blocks, or no files without a name");
        return;
    }
    const std::uint64_t before = spill.bytes();
    for (std::uint64_t i = 1; i < before / kBlockBytes; ++i) {
        REQUIRE(spill.take() != nullptr);
    }
    // As if it had ended in the middle of a reservation.
    const UniqueFd file{::open(nameless_file(scratch.path()).c_str(), O_RDWR | O_CLOEXEC)};
    REQUIRE(file);
    REQUIRE(::fallocate(file.get(), 0, 0, static_cast<off_t>(before + 3 * kBlockBytes)) == 0);
    const int reason = GENERATE(EDQUOT, ENOSPC);
    bool could_refuse = false;
    std::byte* next = nullptr;
    std::thread{[&] {
        could_refuse = refuse_reservations(reason);
        next = could_refuse ? spill.take() : nullptr;
    }}.join();
    if (!could_refuse) {
        WARN("seccomp is not allowed here");
        return;
    }
    CHECK(next == nullptr);
    CHECK(spill.bytes() == before);
    CHECK(spill.take() != nullptr);
}

TEST_CASE("where no unnamed file can be made a spill file has no buffers") {
    SpillFile in_memory{"/dev/shm", 20};
    CHECK(in_memory.take() == nullptr);
    SpillFile nowhere{"/nonexistent", 20};
    CHECK(nowhere.take() == nullptr);
    SpillFile no_file{"/dev/null", 20};
    CHECK(no_file.take() == nullptr);
}

}  // namespace
}  // namespace stage
