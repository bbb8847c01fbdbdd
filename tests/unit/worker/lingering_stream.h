// A stream whose close() blocks, for tests with descriptors from untrusted processes.
#pragma once

#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

namespace stage {

/// A stream whose close() waits until its peer has read everything, or `lingers` is over.
struct LingeringStream {
    explicit LingeringStream(int lingers) {
        const UniqueFd listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(::bind(listening.get(), generic, length) == 0);
        REQUIRE(::listen(listening.get(), 1) == 0);
        REQUIRE(::getsockname(listening.get(), generic, &length) == 0);
        near.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(near.get(), generic, length) == 0);
        far.reset(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
        REQUIRE(far);
        const linger how{.l_onoff = 1, .l_linger = lingers};
        REQUIRE(::setsockopt(near.get(), SOL_SOCKET, SO_LINGER, &how, sizeof how) == 0);
        const std::array<char, 4096> bytes{};
        while (::send(near.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
        }
    }
    UniqueFd near;
    UniqueFd far;
};

}  // namespace stage
