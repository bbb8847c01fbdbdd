// Tests that the driver sends each flow by its own rail, and survives without one.
#include "transport/run/outbox.h"
#include "transport/udp/udp_driver.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace stage::udp {
namespace {

constexpr std::pair<std::uint16_t, std::uint16_t> kPorts{41'000, 42'000};
constexpr int kWaitMs = 20'000;

Address rail_address(const char* text, std::uint16_t port = 0) {
    const auto parsed = Address::parse(text, port);
    REQUIRE(parsed);
    return *parsed;
}

bool is_ready(int fd, short events, int longest_ms) {
    pollfd wait{.fd = fd, .events = events, .revents = 0};
    return ::poll(&wait, 1, longest_ms) == 1;
}

/// A source with four flows to sockets of this host, and two rails, both on its loopback.
struct Source {
    std::vector<UniqueFd> heard;  ///< Where the flows arrive.
    UdpEndpoints endpoints;

    Source() {
        const std::vector<Rail> rails{{"lo", rail_address("127.0.0.1")},
                                      {"lo", rail_address("127.0.0.2")}};
        const SocketOptions options{.interface = "lo"};
        auto peer = open_peer_socket(rails[0].address, kPorts, options);
        auto others = open_rail_sockets(rails, kPorts, options);
        REQUIRE(peer);
        REQUIRE(others);
        REQUIRE(others->size() == 1);
        endpoints.peer = *std::move(peer);
        endpoints.rails = *std::move(others);
        endpoints.interfaces = {"lo", "lo"};
        for (std::uint16_t first = kPorts.first; heard.size() < 4; ++first) {
            heard.clear();
            endpoints.group_address = rail_address("127.0.0.3", first);
            for (std::uint16_t port = first; port < first + 4; ++port) {
                auto opened =
                    open_peer_socket(rail_address("127.0.0.3"), {port, port}, options);
                if (opened) {
                    heard.push_back(*std::move(opened));
                }
            }
        }
        // A driver has as many flows as it has sockets for them.
        for (const UniqueFd& flow : heard) {
            endpoints.flows.emplace_back(::fcntl(flow.get(), F_DUPFD_CLOEXEC, 0));
        }
    }
};

Result<Sent> send_to(UdpDriver& driver, TrainTarget target, std::size_t bytes = 2500) {
    const std::vector<std::byte> body(bytes, std::byte{7});
    const Bytes piece = body;
    return driver.send(
        {.target = target, .pieces = {&piece, 1}, .bytes = bytes, .packet_bytes = 1000});
}

TrainTarget flow(std::uint8_t number) {
    return {.to_group = true, .peer = {}, .flow = Flow{number}};
}

/// The senders of the packets that wait there, in order.
std::string sender_at(const UniqueFd& socket) {
    REQUIRE(is_ready(socket.get(), POLLIN, kWaitMs));
    std::array<std::byte, 65'536> room{};
    sockaddr_in from{};
    socklen_t length = sizeof from;
    REQUIRE(::recvfrom(socket.get(),
                       room.data(),
                       room.size(),
                       0,
                       reinterpret_cast<sockaddr*>(&from),
                       &length) > 0);
    const auto sender = Address::from_socket(reinterpret_cast<sockaddr*>(&from), length);
    REQUIRE(sender);
    return sender->host();
}

TEST_CASE("flow k leaves by rail k mod n, one by one and together") {
    Source source;
    UdpDriver driver{std::move(source.endpoints)};
    for (std::uint8_t number = 0; number < 4; ++number) {
        const auto sent = send_to(driver, flow(number));
        REQUIRE(sent);
        CHECK(sender_at(source.heard[number]) == (number % 2 == 0 ? "127.0.0.1" : "127.0.0.2"));
    }
    const std::vector<std::byte> body(40, std::byte{1});
    const Bytes piece = body;
    std::vector<Train> trains;
    for (const std::uint8_t number : std::array<std::uint8_t, 5>{1, 3, 3, 1, 1}) {
        trains.push_back(
            {.target = flow(number), .pieces = {&piece, 1}, .bytes = 40, .packet_bytes = 40});
    }
    const std::uint64_t before = driver.counters().send_calls;
    const auto sent = driver.send_together(trains);
    REQUIRE(sent);
    CHECK(*sent == 5);
    CHECK(driver.counters().packets_sent == 4 * 3 + 5);
    CHECK(driver.counters().send_calls - before == 1);
}

TEST_CASE("a rail that is gone loses its trains and carries no more; the first one is needed") {
    Source source;
    source.endpoints.rails[0].reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    UdpDriver driver{std::move(source.endpoints)};
    CHECK(driver.carries(Flow{1}));
    const auto lost = send_to(driver, flow(1));
    REQUIRE(lost);
    CHECK(*lost == Sent::all);
    CHECK(driver.carries(Flow{0}));
    CHECK_FALSE(driver.carries(Flow{1}));
    CHECK_FALSE(driver.carries(Flow{3}));

    Source other;
    other.endpoints.peer.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    UdpDriver dead{std::move(other.endpoints)};
    CHECK_FALSE(send_to(dead, flow(0)));
}

TEST_CASE("whatever a send meets but a socket that is none is loss") {
    Source source;
    source.endpoints.peer.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    UdpDriver driver{std::move(source.endpoints)};
    const auto lost = send_to(driver, flow(0));  // Not connected.
    REQUIRE(lost);
    CHECK(*lost == Sent::all);
}

TEST_CASE("a flow whose interface is down carries nothing") {
    Source source;
    source.endpoints.interfaces = {"no-such-if", "no-such-if"};
    UdpDriver driver{std::move(source.endpoints)};
    CHECK(driver.carries(Flow{0}));
    CHECK_FALSE(driver.carries(Flow{1}));
    CHECK(driver.carries(Flow{2}));
    CHECK_FALSE(driver.carries(Flow{3}));
}

/// In place of the second rail; takes whatever is sent to any rail_address, and fills up.
UniqueFd far_end_of_rail(Source& source) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    source.endpoints.rails[0].reset(ends[0]);
    return UniqueFd{ends[1]};
}

TEST_CASE("a full rail without a link is not waited for") {
    Source source;
    const UniqueFd far = far_end_of_rail(source);
    source.endpoints.interfaces[1] = "no-such-if";
    UdpDriver driver{std::move(source.endpoints)};
    for (int i = 0; i < 1000; ++i) {  // More than it takes.
        const auto sent = send_to(driver, flow(1), 900);
        REQUIRE(sent);
        REQUIRE(*sent == Sent::all);
    }
    CHECK_FALSE(driver.carries(Flow{1}));
    const auto sent = send_to(driver, flow(0), 900);
    REQUIRE(sent);
    CHECK(sender_at(source.heard[0]) == "127.0.0.1");
}

TEST_CASE("a rail that is full is what is waited for, not the first one") {
    Source source;
    const UniqueFd far = far_end_of_rail(source);
    const int rail = source.endpoints.rails[0].get();
    UdpDriver driver{std::move(source.endpoints)};
    REQUIRE(driver.outlets() == 2);
    CHECK(driver.outlet_descriptor(0) == driver.descriptors().front());
    CHECK(driver.outlet_descriptor(driver.outlet_of(flow(1))) == rail);
    auto sent = send_to(driver, flow(1), 900);
    while (sent && *sent == Sent::all) {
        sent = send_to(driver, flow(1), 900);
    }
    REQUIRE(sent);
    CHECK_FALSE(is_ready(rail, POLLOUT, 0));
    CHECK(is_ready(driver.outlet_descriptor(0), POLLOUT, 0));
    std::array<std::byte, 1000> room{};
    while (::recv(far.get(), room.data(), room.size(), MSG_DONTWAIT) > 0) {
    }
    CHECK(is_ready(rail, POLLOUT, kWaitMs));
}

// Where the kernel does not segment, a full socket may take only some packets of a train.
TEST_CASE("a train that left in part leaves no packet behind, and none twice") {
    Source source;
    const UniqueFd far = far_end_of_rail(source);
    const int small = 1;  // The kernel's least, some 4.6 KB: the train is too large for it.
    REQUIRE(::setsockopt(
                source.endpoints.rails[0].get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small) ==
            0);
    UdpDriver driver{std::move(source.endpoints)};
    std::vector<std::byte> body;
    for (unsigned packet = 0; packet < 20; ++packet) {
        body.insert(body.end(), 500, static_cast<std::byte>(packet));
    }
    const Bytes piece = body;
    std::size_t packets_sent = 0;
    const Train train{.target = flow(1),
                      .pieces = {&piece, 1},
                      .bytes = body.size(),
                      .packet_bytes = 500,
                      .packets_sent = &packets_sent};
    std::vector<std::byte> heard;
    int refusals = 0;
    for (bool is_left = true; is_left;) {
        const auto sent = driver.send(train);
        REQUIRE(sent);
        is_left = *sent == Sent::would_block;
        refusals += is_left ? 1 : 0;
        std::array<std::byte, 1000> room{};
        for (ssize_t got = 0;
             (got = ::recv(far.get(), room.data(), room.size(), MSG_DONTWAIT)) > 0;) {
            CHECK(got == 500);
            heard.push_back(room[0]);
        }
    }
    CHECK(refusals > 0);
    REQUIRE(heard.size() == 20);
    for (unsigned packet = 0; packet < 20; ++packet) {
        CHECK(heard[packet] == static_cast<std::byte>(packet));
    }
    CHECK(driver.counters().packets_sent == 20);
}

/// A session of a driver that others may have used before: sends `chunks` chunks by each of
/// two flows, and ends without what the driver refuses.
void run_session(UdpDriver& driver, std::uint16_t chunks) {
    constexpr std::uint32_t kChunk = 400;
    seal::SessionKeys keys;
    keys.members.resize(2);
    seal::SessionSeal seal{keys};
    BlockStore blocks{1};
    static_cast<void>(blocks.acquire({}));
    blocks.set_extent({}, chunks * kChunk);
    core::CoreConfig config;
    config.chunk_bytes = kChunk;
    Outbox outbox{driver, seal, blocks, config, 2};
    core::SendBatch batch;
    for (std::uint64_t number : {1U, 1U + chunks}) {
        core::Send send;
        send.to.to_group = true;
        send.packet_number = number;
        send.count = chunks;
        batch.sends.push_back(send);
    }
    outbox.add(std::move(batch), kChunk);
    REQUIRE(outbox.flush({}));
}

TEST_CASE("of a later session no packet is taken for one that an earlier session sent") {
    Source source;
    const UniqueFd far = far_end_of_rail(source);
    const int small = 1;
    REQUIRE(::setsockopt(
                source.endpoints.rails[0].get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small) ==
            0);
    const int rail = source.endpoints.rails[0].get();
    UdpDriver driver{std::move(source.endpoints)};
    const auto heard = [&far] {
        std::size_t packets = 0;
        std::array<std::byte, 1000> room{};
        while (::recv(far.get(), room.data(), room.size(), MSG_DONTWAIT) > 0) {
            ++packets;
        }
        return packets;
    };
    run_session(driver, 20);
    const std::size_t begun = heard();
    CHECK(begun > 0);
    REQUIRE(begun < 20);
    REQUIRE(is_ready(rail, POLLOUT, kWaitMs));
    const std::uint16_t chunks = GENERATE(std::uint16_t{1}, std::uint16_t{20});
    run_session(driver, chunks);
    CHECK(heard() == std::min<std::size_t>(begun, chunks));
}

}  // namespace
}  // namespace stage::udp
