// Runs a test's code in a process in which one system call fails, as some file systems let it.
#pragma once

#include <catch2/catch.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

namespace stage::test {

inline void let_call_fail(long number, int cause) {
    std::array<sock_filter, 4> filter{
        sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(number)},
        sock_filter{
            BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(cause)},
        sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    static_cast<void>(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    static_cast<void>(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/// Returns what `body`, which makes no assertion, returned in a process of its own in which the
/// system call `number` (SYS_close) fails with `cause`.
template <class Body>
std::string said_where_call_fails(long number, int cause, Body body) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        let_call_fail(number, cause);
        const std::string text = body();
        _exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    std::string text;
    std::array<char, 1024> part{};
    for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;) {
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    return text;
}

}  // namespace stage::test
