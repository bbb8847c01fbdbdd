// Tests that closing a user's descriptors does not block, whatever they are.
#include "stager/daemon/base/closing_process.h"

#include "tests/unit/daemon/services_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"
#include "tests/unit/worker/lingering_stream.h"
#include "transport/os/descriptors.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <vector>

namespace stage {
namespace {

constexpr int kHour = 3600;

/// A connection whose one end has gone and left `fd` unread in the other.
UniqueFd connection_with(UniqueFd fd) {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    UniqueFd near{pair[0]};
    const UniqueFd far{pair[1]};
    constexpr std::array kOneByte{std::byte{0}};
    REQUIRE(send_with_descriptors(far.get(), kOneByte, std::array{fd.get()}));
    return near;
}

bool has_hung_up(int fd) {
    std::byte byte{};
    return ::recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

}  // namespace

TEST_CASE("connections with descriptors that linger are closed without waiting", "[root]") {
    if (!is_root()) {
        return;
    }
    ServicesWorld world{{run_closing_process}};
    const Logger quiet{[](LogLevel, std::string_view) {}, LogLevel::error};
    ClosingProcess closing{world.loop(), world.services->basics.children, quiet, 0};
    // More than one child takes.
    constexpr std::size_t kMany = 1000;
    std::vector<UniqueFd> far;
    LingeringStream first{kHour};
    LingeringStream last{kHour};
    closing.close(connection_with(std::move(first.near)));
    for (std::size_t i = 0; i < kMany; ++i) {
        std::array<int, 2> pair{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
        far.emplace_back(pair[0]);
        closing.close(UniqueFd{pair[1]});
    }
    closing.close(connection_with(std::move(last.near)));
    world.run_until([&] {
        return std::all_of(
            far.begin(), far.end(), [](const UniqueFd& one) { return has_hung_up(one.get()); });
    });
}

}  // namespace stage
