// Shared by tests of the spawner: a real spawner, its events in time, a user that is not root.
#pragma once

#include "stager/spawn/spawner.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace stage {

inline constexpr int kTimeoutMs = 20'000;     ///< For things that take milliseconds.
inline constexpr uid_t kUnknownUid = 61'234;  ///< No user in passwd has this uid.

inline bool wait_readable(int fd) {
    pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&polled, 1, kTimeoutMs) == 1;
}

/// All that comes until the end of the stream.
inline std::string read_all(int fd) {
    std::string text;
    std::array<char, 4096> chunk{};
    while (wait_readable(fd)) {
        const ssize_t got = ::read(fd, chunk.data(), chunk.size());
        if (got <= 0) {
            return text;
        }
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return text + "(and no end)";
}

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{-1, -1};
        REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
        out.reset(ends[0]);
        in.reset(ends[1]);
    }
    UniqueFd out;
    UniqueFd in;
};

/// A spawner and what it said. Ends with the test, its children with it.
class SpawnWorld {
  public:
    explicit SpawnWorld(std::vector<SpawnRole> roles = {}) {
        auto forked = Spawner::fork({.roles = std::move(roles), .cgroup = {}});
        REQUIRE(forked);
        spawner_.emplace(std::move(*forked));
    }
    Spawner& spawner() { return *spawner_; }

    /// The next event; a test that waits in vain fails.
    SpawnEvent next() {
        while (events_.empty()) {
            REQUIRE(wait_readable(spawner_->fd()));
            auto events = spawner_->read_events();
            REQUIRE(events);
            events_ = std::move(*events);
        }
        SpawnEvent event = events_.front();
        events_.erase(events_.begin());
        return event;
    }
    SpawnEvent next(SpawnEvent::Kind kind) {
        SpawnEvent event = next();
        INFO(event.sentence);
        REQUIRE(event.kind == kind);
        return event;
    }

    static ProgramRequest shell(const std::string& script) {
        return {.path = "/bin/sh",
                .arguments = {"sh", "-c", script},
                .environment = {"PATH=/usr/bin:/bin"},
                .user = std::nullopt,
                .umask = 077,
                .oom_score_adj = 0,
                .group = {}};
    }

  private:
    std::optional<Spawner> spawner_;
    std::vector<SpawnEvent> events_;
};

}  // namespace stage
