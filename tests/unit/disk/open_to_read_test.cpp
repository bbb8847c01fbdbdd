// Tests that a file can be opened whose lease another process gives back.
#include "stager/disk/open_to_read.h"

#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <csignal>
#include <thread>

namespace stage {

TEST_CASE("a file with a lease is opened once the lease is given back") {
    const test::Scratch scratch;
    const std::string path = scratch.write("leased", "x");
    const auto before = std::signal(SIGIO, SIG_IGN);  // The kernel's message to the holder.
    const UniqueFd holder{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) {
        WARN("skipped: this file system has no leases");
        return;
    }
    std::thread gives_back{[&] {
        while (::fcntl(holder.get(), F_GETLEASE) == F_WRLCK) {  // Until it is asked to.
            std::this_thread::yield();
        }
        static_cast<void>(::fcntl(holder.get(), F_SETLEASE, F_UNLCK));
    }};
    const UniqueFd file = open_to_read(path);
    gives_back.join();
    std::signal(SIGIO, before);
    CHECK(file);
}

TEST_CASE("a missing file is not waited for") {
    CHECK_FALSE(open_to_read("/nowhere/at/all"));
    CHECK(errno == ENOENT);
}

}  // namespace stage
