// Tests that a descriptor whose close() blocks does not block the daemon's thread.
#include "stager/messages/untrusted_fd.h"

#include "tests/unit/files/scratch.h"
#include "tests/unit/worker/lingering_stream.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>

namespace stage {
namespace {

std::size_t threads() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator{"/proc/self/task"}) {
        ++count;
    }
    return count;
}

/// Polls until the condition holds; returns whether it did.
bool comes(const std::function<bool()>& what) {
    constexpr int kLooks = 2000;
    for (int i = 0; i < kLooks && !what(); ++i) {
        ::poll(nullptr, 0, 5);
    }
    return what();
}

bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) >= 0;
}

UniqueFd memfd() {
    return UniqueFd{::memfd_create("test", MFD_CLOEXEC)};
}

}  // namespace

TEST_CASE("files in memory are distinguished from files whose close() may block") {
    const test::Scratch scratch;
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const UniqueFd reading{ends[0]};
    const UniqueFd writing{ends[1]};
    const std::string path = scratch.write("a", "abc");
    const UniqueFd on_disk{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    const UniqueFd name_only{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    CHECK(is_in_memory(memfd().get()));
    CHECK_FALSE(is_in_memory(reading.get()));
    CHECK_FALSE(is_in_memory(on_disk.get()));
    CHECK_FALSE(is_in_memory(name_only.get()));
    CHECK_FALSE(is_in_memory(-1));
}

TEST_CASE("even a file in memory is not closed by the thread that drops it") {
    const std::size_t threads_before = threads();
    const auto closer = std::make_shared<DeferredCloser>();
    LingeringStream stream{10};
    UntrustedFd before{std::move(stream.near), closer};
    UntrustedFd untrusted{memfd(), closer};
    const int fd = untrusted.get();
    before.reset();  // Keeps the user's thread busy.
    untrusted.reset();
    CHECK_FALSE(untrusted);
    CHECK(is_open(fd));
    stream.far.reset();
    CHECK(comes([&] { return !is_open(fd) && threads() == threads_before; }));
}

TEST_CASE("a close() that blocks blocks another thread") {
    const std::size_t before = threads();
    LingeringStream stream{10};
    { const UntrustedFd untrusted{std::move(stream.near)}; }
    // No byte has been read, so close() still blocks.
    CHECK(threads() == before + 1);
    stream.far.reset();
    CHECK(comes([&] { return threads() == before; }));
}

TEST_CASE("an assignment closes the previous descriptor in the same way") {
    const std::size_t before = threads();
    LingeringStream stream{10};
    UntrustedFd untrusted{std::move(stream.near)};
    untrusted = UntrustedFd{memfd()};
    CHECK(threads() == before + 1);
    CHECK(is_in_memory(untrusted.trusted().get()));
    stream.far.reset();
    CHECK(comes([&] { return threads() == before; }));
}

TEST_CASE("descriptors dropped at once cost one thread") {
    const std::size_t before = threads();
    LingeringStream stream{10};
    std::vector<UniqueFd> fds;
    fds.push_back(memfd());
    fds.push_back(std::move(stream.near));
    fds.emplace_back();
    fds.emplace_back(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    const int in_memory = fds.front().get();
    const int last = fds.back().get();
    const auto closer = std::make_shared<DeferredCloser>();
    closer->close(std::move(fds));
    CHECK(comes([&] { return !is_open(in_memory); }));
    CHECK(threads() == before + 1);
    CHECK(is_open(last));
    stream.far.reset();
    CHECK(comes([&] { return threads() == before; }));
    CHECK_FALSE(is_open(last));
}

TEST_CASE("one user's blocked descriptors cost one thread, and delay no other user") {
    const std::size_t before = threads();
    UserClosers closers;
    const CloserPtr alice = closers.of(1);
    CHECK(closers.of(1) == alice);
    CHECK(closers.of(2) != alice);
    std::vector<LingeringStream> streams;
    for (int i = 0; i < 3; ++i) {
        streams.emplace_back(10);
        const UntrustedFd untrusted{std::move(streams.back().near), alice};
    }
    CHECK(threads() == before + 1);
    CHECK(alice->waiting() == 3);
    const int bobs = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    { const UntrustedFd untrusted{UniqueFd{bobs}, closers.of(2)}; }
    CHECK(comes([&] { return !is_open(bobs); }));
    CHECK(alice->waiting() == 3);
    streams.clear();
    CHECK(comes([&] { return alice->waiting() == 0 && threads() == before; }));
}

TEST_CASE("the number of a user's descriptors that wait to be closed is limited") {
    const auto closer = std::make_shared<DeferredCloser>();
    LingeringStream stream{10};
    closer->close(std::move(stream.near));
    for (std::size_t i = 1; i < kClosingMax; ++i) {
        CHECK_FALSE(closer->is_full());
        closer->close(UniqueFd{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)});
    }
    CHECK(closer->is_full());
    stream.far.reset();
    CHECK(comes([&] { return closer->waiting() == 0; }));
}

TEST_CASE("a trusted descriptor is handed on") {
    const std::size_t before = threads();
    UntrustedFd untrusted{memfd()};
    const int fd = untrusted.get();
    const UniqueFd trusted = untrusted.trusted();
    CHECK(trusted.get() == fd);
    CHECK_FALSE(untrusted);
    untrusted.reset();
    CHECK(is_open(fd));
    CHECK(threads() == before);
}

}  // namespace stage
