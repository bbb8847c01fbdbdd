#include "transport/tcp/tcp_connection.h"

#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

using namespace stage;

namespace {

struct Ends {
    UniqueFd peer;
    tcp::TcpConnection own;
};

Ends connected(std::size_t packet_bytes_max) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) ==
            0);
    return {.peer = UniqueFd{ends[0]}, .own = {UniqueFd{ends[1]}, packet_bytes_max}};
}

void write_frame(int socket, std::uint32_t bytes, std::uint32_t packet_bytes, char content) {
    ByteWriter header;
    header.u32(bytes).u32(packet_bytes);
    std::vector<std::byte> frame = header.take();
    frame.resize(frame.size() + bytes, static_cast<std::byte>(content));
    REQUIRE(::write(socket, frame.data(), frame.size()) ==
            static_cast<::ssize_t>(frame.size()));
}

}  // namespace

TEST_CASE("a frame of filling is skipped, and the packets around it are whole") {
    Ends ends = connected(1000);
    std::vector<ReceivedPacket> packets;
    write_frame(ends.peer.get(), 30, 20, 'a');
    write_frame(ends.peer.get(), 5000, 0, 'x');
    write_frame(ends.peer.get(), 7, 7, 'b');
    REQUIRE(ends.own.read(packets));
    REQUIRE(packets.size() == 3);
    CHECK(packets[0].bytes.size() == 20);
    CHECK(packets[1].bytes.size() == 10);
    CHECK(packets[2].bytes.size() == 7);
    CHECK(packets[2].bytes[0] == std::byte{'b'});
}

TEST_CASE("what is no frame ends the connection, and so does filling before the proof") {
    struct Case {
        std::size_t packet_bytes_max;
        std::uint32_t bytes;
        std::uint32_t packet_bytes;
    };
    const auto wrong = GENERATE(Case{1000, 0, 10},
                                Case{1000, 10, 1001},
                                Case{1000, (1U << 20U) + 1, 10},
                                Case{0, 20, 0},
                                Case{0, 129, 10},
                                Case{0, 10, 129});
    Ends ends = connected(wrong.packet_bytes_max);
    std::vector<ReceivedPacket> packets;
    ByteWriter header;
    header.u32(wrong.bytes).u32(wrong.packet_bytes);
    const std::vector<std::byte> head = header.take();
    REQUIRE(::write(ends.peer.get(), head.data(), head.size()) == 8);
    CHECK_FALSE(ends.own.read(packets));
    CHECK(packets.empty());
    CHECK_FALSE(ends.own.was_reset());
}
