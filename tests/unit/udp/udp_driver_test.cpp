#include "transport/udp/udp_driver.h"

#include "transport/os/bound_address.h"
#include "transport/udp/packet_slots.h"
#include "transport/udp/sockets.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

namespace stage {
namespace {

constexpr std::pair<std::uint16_t, std::uint16_t> kPorts{41000, 42000};
constexpr int kWaitMs = 20'000;

udp::SocketOptions loopback() {
    udp::SocketOptions options;
    options.interface = "lo";
    return options;
}

struct Pair {
    UniqueFd sockets[2];
    std::vector<Address> members;
};

Pair open_pair() {
    Pair pair;
    const auto own = Address::parse("127.0.0.1", 0);
    REQUIRE(own);
    for (auto& socket : pair.sockets) {
        auto opened = udp::open_peer_socket(*own, kPorts, loopback());
        REQUIRE(opened);
        const auto bound = bound_address(opened->get());
        REQUIRE(bound);
        pair.members.push_back(*bound);
        socket = std::move(*opened);
    }
    return pair;
}

udp::UdpEndpoints endpoints_of(Pair& pair, std::size_t rank) {
    udp::UdpEndpoints endpoints;
    endpoints.peer = std::move(pair.sockets[rank]);
    endpoints.members = pair.members;
    return endpoints;
}

/// Cut without regard to packets, an empty piece among them.
std::vector<Bytes> in_pieces(Bytes bytes) {
    std::vector<Bytes> pieces{bytes.first(16), Bytes{}};
    for (bytes = bytes.subspan(16); !bytes.empty();) {
        const std::size_t size = std::min<std::size_t>(997, bytes.size());
        pieces.push_back(bytes.first(size));
        bytes = bytes.subspan(size);
    }
    return pieces;
}

/// Runs a test twice, the second time without checksums: then the kernel refuses to segment,
/// and the driver sends one by one.
void segments_or_not(const Pair& pair) {
    const int without_checksums = GENERATE(0, 1);
    REQUIRE(::setsockopt(pair.sockets[0].get(),
                         SOL_SOCKET,
                         SO_NO_CHECK,
                         &without_checksums,
                         sizeof without_checksums) == 0);
}

TEST_CASE("a train of unequal length arrives packet by packet as it was sent") {
    Pair pair = open_pair();
    REQUIRE(pair.members[0].port != pair.members[1].port);
    segments_or_not(pair);
    udp::UdpDriver sender{endpoints_of(pair, 0)};
    udp::UdpDriver receiver{endpoints_of(pair, 1)};

    std::vector<std::byte> bytes(20 * 1400 + 333);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(i % 253);
    }
    const std::vector<Bytes> pieces = in_pieces(bytes);
    const auto sent = sender.send({.target = {.to_group = false, .peer = Rank{1}},
                                   .pieces = pieces,
                                   .bytes = bytes.size(),
                                   .packet_bytes = 1400});
    REQUIRE(sent);
    CHECK(*sent == Sent::all);
    CHECK(sender.counters().packets_sent == 21);

    std::vector<std::byte> heard;
    std::size_t packets = 0;
    while (heard.size() < bytes.size()) {
        pollfd wait{.fd = receiver.descriptors()[0], .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&wait, 1, kWaitMs) == 1);
        std::vector<ReceivedPacket> received;
        REQUIRE(receiver.receive(received, {}));
        for (const ReceivedPacket& packet : received) {
            CHECK_FALSE(packet.to_group);
            CHECK(packet.bytes.size() == (packets < 20 ? 1400U : 333U));
            heard.insert(heard.end(), packet.bytes.begin(), packet.bytes.end());
            ++packets;
        }
    }
    CHECK(packets == 21);
    CHECK(std::ranges::equal(heard, bytes));
    CHECK(receiver.counters().packets_received == 21);
    CHECK(receiver.counters().socket_bytes_max > 0);
}

TEST_CASE("trains that leave together arrive as if each had left alone") {
    Pair pair = open_pair();
    segments_or_not(pair);
    udp::UdpDriver sender{endpoints_of(pair, 0)};
    udp::UdpDriver receiver{endpoints_of(pair, 1)};
    const std::vector<std::byte> bytes(3 * 1400 + 333, std::byte{5});
    const Bytes all{bytes};
    const Bytes small = all.first(40);
    const TrainTarget target{.to_group = false, .peer = Rank{1}};
    const std::array trains{
        Train{.target = target, .pieces = {&small, 1}, .bytes = 40, .packet_bytes = 40},
        Train{
            .target = target, .pieces = {&all, 1}, .bytes = bytes.size(), .packet_bytes = 1400},
        Train{.target = target, .pieces = {&small, 1}, .bytes = 40, .packet_bytes = 40}};
    const auto sent = sender.send_together(trains);
    REQUIRE(sent);
    CHECK(*sent == 3);
    CHECK(sender.counters().packets_sent == 6);
    CHECK(sender.counters().bytes_sent == bytes.size() + 80);
    std::vector<std::size_t> sizes;
    while (sizes.size() < 6) {
        pollfd wait{.fd = receiver.descriptors()[0], .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&wait, 1, kWaitMs) == 1);
        std::vector<ReceivedPacket> received;
        REQUIRE(receiver.receive(received, {}));
        for (const ReceivedPacket& packet : received) {
            sizes.push_back(packet.bytes.size());
        }
    }
    CHECK(sizes == std::vector<std::size_t>{40, 1400, 1400, 1400, 333, 40});
}

/// A driver that hears three flows and sends to them: of a group of one host.
udp::UdpEndpoints three_flows() {
    Pair pair = open_pair();
    udp::UdpEndpoints endpoints = endpoints_of(pair, 0);
    const auto own = Address::parse("127.0.0.1", 0);
    REQUIRE(own);
    for (std::uint16_t first = kPorts.first; endpoints.flows.size() < 3; ++first) {
        endpoints.flows.clear();
        endpoints.group_address = own->with_port(first);
        for (std::uint8_t flow = 0; flow < 3; ++flow) {
            const std::uint16_t port =
                udp::GroupFlows{.first = endpoints.group_address}.address(Flow{flow}).port;
            auto opened = udp::open_peer_socket(*own, {port, port}, loopback());
            if (!opened) {
                break;
            }
            endpoints.flows.push_back(std::move(*opened));
        }
    }
    return endpoints;
}

void send_to_flow(udp::UdpDriver& driver, std::uint8_t flow, std::size_t bytes) {
    const std::vector<std::byte> body(bytes, std::byte{flow});
    const Bytes piece = body;
    REQUIRE(driver.send({.target = {.to_group = true, .peer = {}, .flow = Flow{flow}},
                         .pieces = {&piece, 1},
                         .bytes = bytes,
                         .packet_bytes = 1000}));
}

TEST_CASE(
    "a train to the group arrives on its flow, read with all or by the thread that took it") {
    udp::UdpEndpoints endpoints = three_flows();
    const int peer = endpoints.peer.get();
    udp::UdpDriver driver{std::move(endpoints)};
    CHECK(driver.descriptors().size() == 4);
    CHECK(driver.descriptors().front() == peer);
    for (std::uint8_t flow = 0; flow < 3; ++flow) {
        send_to_flow(driver, flow, 100U + flow);
    }
    std::vector<std::size_t> sizes;
    while (sizes.size() < 3) {
        std::vector<ReceivedPacket> received;
        REQUIRE(driver.receive(received, {}));
        for (const ReceivedPacket& packet : received) {
            CHECK(packet.to_group);
            sizes.push_back(packet.bytes.size());
        }
    }
    std::ranges::sort(sizes);
    CHECK(sizes == std::vector<std::size_t>{100, 101, 102});

    const auto flows = driver.take_flows();
    REQUIRE(flows.size() == 3);
    CHECK(driver.descriptors().size() == 1);
    send_to_flow(driver, 2, 2500);
    pollfd wait{.fd = flows[2]->descriptor(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&wait, 1, kWaitMs) == 1);
    std::vector<ReceivedPacket> received;
    REQUIRE(flows[2]->receive(0, received));
    REQUIRE(received.size() == 3);
    CHECK(received.front().bytes.size() == 1000);
    CHECK(received.back().bytes.front() == std::byte{2});
    CHECK(flows[2]->counters().packets_received == 3);
    // Another set of buffers, while the first is in use.
    std::vector<ReceivedPacket> more;
    send_to_flow(driver, 2, 7);
    REQUIRE(::poll(&wait, 1, kWaitMs) == 1);
    REQUIRE(flows[2]->receive(1, more));
    CHECK(more.size() == 1);
    CHECK(received.back().bytes.front() == std::byte{2});
    std::vector<ReceivedPacket> elsewhere;
    REQUIRE(flows[0]->receive(0, elsewhere));
    REQUIRE(driver.receive(elsewhere, {}));
    CHECK(elsewhere.empty());
}

int number_of(const UniqueFd& socket, int level, int option) {
    int value = -1;
    socklen_t length = sizeof value;
    REQUIRE(::getsockopt(socket.get(), level, option, &value, &length) == 0);
    return value;
}

TEST_CASE("multicast leaves as far and in the class that was said, and comes not back") {
    auto options = loopback();
    options.ttl = 7;
    options.dscp = 10;
    const auto own = Address::parse("127.0.0.1", 0);
    REQUIRE(own);
    const auto opened = udp::open_peer_socket(*own, kPorts, options);
    REQUIRE(opened);
    CHECK(number_of(*opened, IPPROTO_IP, IP_MULTICAST_TTL) == 7);
    CHECK(number_of(*opened, IPPROTO_IP, IP_TOS) == 10 << 2);
    CHECK(number_of(*opened, IPPROTO_IP, IP_MULTICAST_LOOP) == 0);
}

TEST_CASE("only the sockets that are said to be readable are asked") {
    Pair pair = open_pair();
    udp::UdpDriver sender{endpoints_of(pair, 0)};
    udp::UdpDriver receiver{endpoints_of(pair, 1)};
    const std::vector<std::byte> bytes(100, std::byte{3});
    const Bytes piece = bytes;
    REQUIRE(sender.send({.target = {.to_group = false, .peer = Rank{1}},
                         .pieces = {&piece, 1},
                         .bytes = 100,
                         .packet_bytes = 100}));
    pollfd wait{.fd = receiver.descriptors()[0], .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&wait, 1, kWaitMs) == 1);
    std::vector<ReceivedPacket> received;
    REQUIRE(receiver.receive(received, {.peers = false}));
    CHECK(received.empty());
    CHECK(receiver.stream_descriptor() != receiver.descriptors()[0]);
    REQUIRE(receiver.receive(received, {}));
    CHECK(received.size() == 1);
}

TEST_CASE("a peer that is gone is loss, not an error") {
    Pair pair = open_pair();
    udp::UdpDriver sender{endpoints_of(pair, 0)};
    pair.sockets[1].reset();
    const std::vector<std::byte> bytes(100);
    const Bytes piece = bytes;
    for (int i = 0; i < 3; ++i) {  // the second meets the ICMP answer to the first
        REQUIRE(sender.send({.target = {.to_group = false, .peer = Rank{1}},
                             .pieces = {&piece, 1},
                             .bytes = 100,
                             .packet_bytes = 100}));
        std::vector<ReceivedPacket> received;
        CHECK(sender.receive(received, {}));
    }
}

TEST_CASE("what the network refuses is lost, what the socket refuses is an error") {
    for (const int cause : {ENETDOWN,
                            ENETUNREACH,
                            EHOSTUNREACH,
                            EPERM,
                            ENOBUFS,
                            EACCES,
                            EINVAL,
                            EMSGSIZE,
                            ENOMEM}) {
        CHECK(udp::is_loss(cause));
    }
    for (const int cause : {EBADF, ENOTSOCK, EFAULT, EPIPE, EAGAIN}) {
        CHECK_FALSE(udp::is_loss(cause));
    }
}

TEST_CASE("an interface that isn't there is named with the remedy") {
    auto options = loopback();
    options.interface = "no-such-if";
    const auto opened = udp::open_peer_socket(Address{}, kPorts, options);
    REQUIRE_FALSE(opened);
    CHECK_THAT(opened.error().sentence(),
               Catch::Contains("no-such-if") && Catch::Contains("Interface="));
}

TEST_CASE("a full port range is said as such") {
    Pair pair = open_pair();
    const std::uint16_t taken = pair.members[0].port;
    const auto opened = udp::open_peer_socket(pair.members[0], {taken, taken}, loopback());
    REQUIRE_FALSE(opened);
    CHECK_THAT(opened.error().sentence(), Catch::Contains("DataPortRange"));
}

}  // namespace
}  // namespace stage
