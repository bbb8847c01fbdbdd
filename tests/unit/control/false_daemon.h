// A daemon's socket, and what answers there.
#pragma once

#include "stager/control/frame.h"
#include "stager/control/message.h"
#include "tests/unit/scratch.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace stage {

/// A listening socket of ours; `serve` answers one connection.
class FalseDaemon {
  public:
    FalseDaemon() { listen(); }
    /// At the place of one that left.
    explicit FalseDaemon(std::string path) : path_{std::move(path)} { listen(); }
    FalseDaemon(const FalseDaemon&) = delete;
    FalseDaemon& operator=(const FalseDaemon&) = delete;
    ~FalseDaemon() = default;

    [[nodiscard]] const std::string& path() const { return path_; }
    void stop() { fd_.reset(); }
    /// Stops, and takes its name along.
    void leave() {
        static_cast<void>(::unlink(path_.c_str()));
        stop();
    }
    /// A client has connected and is not accepted.
    void await_client() const {
        pollfd one{.fd = fd_.get(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&one, 1, -1) == 1);
    }
    /// Accepts a client that has sent its request, and reads none of it.
    void take_and_close() const {
        const UniqueFd peer{::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        pollfd one{.fd = peer.get(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&one, 1, -1) == 1);
    }

    /// Takes one connection, reads its request, writes `bytes` and closes.
    [[nodiscard]] std::jthread answering(std::vector<std::byte> bytes) const {
        return std::jthread{[this, bytes = std::move(bytes)] {
            const UniqueFd peer{::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            FrameReader reader{kMaxMessageBytes};
            std::array<std::byte, 4096> buffer{};
            while (!reader.next()) {
                const auto count = ::read(peer.get(), buffer.data(), buffer.size());
                if (count <= 0) {
                    return;
                }
                static_cast<void>(
                    reader.feed(Bytes{buffer}.first(static_cast<std::size_t>(count))));
            }
            [[maybe_unused]] const auto sent = ::write(peer.get(), bytes.data(), bytes.size());
        }};
    }

  private:
    void listen() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
        fd_ = UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
        const auto* generic = reinterpret_cast<const sockaddr*>(&address);
        REQUIRE(::bind(fd_.get(), generic, sizeof address) == 0);
        REQUIRE(::listen(fd_.get(), 4) == 0);
    }

    Scratch directory_;
    std::string path_ = directory_.path() + "/socket";
    UniqueFd fd_;
};

}  // namespace stage
