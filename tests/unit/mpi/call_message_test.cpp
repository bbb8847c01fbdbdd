// Tests the messages between libstagecast-mpi and its worker, and the reports of all nodes.
#include "stager/mpi/messages/call_message.h"

#include "stager/mpi/node_report.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>
#include <utility>

namespace stage {
namespace {

CallOrder some_order() {
    CallOrder order;
    order.source = "/home/u/in";
    order.destination = "/tmp/out";
    order.existing = CallExisting::newer;
    order.is_on_each_node = true;
    order.transport = Transport::tcp;
    order.interfaces = "eth0+eth1,ib0";
    order.rate_max = 100'000'000;
    order.stall_timeout = std::chrono::seconds{30};
    return order;
}

CallOffer some_offer() {
    CallOffer offer;
    offer.order = some_order();
    offer.seconds = -1;  // A file from before 1970.
    offer.nanoseconds = 999'999'999;
    offer.bytes = 1ULL << 40U;
    offer.owner = 4711;
    offer.manifest = {std::byte{1}, std::byte{2}};
    offer.key.fill(std::byte{7});
    return offer;
}

std::vector<CallMessage> all_messages() {
    CallReady ready{.is_needed = true, .addresses = {}};
    ready.addresses.push_back({.ip = parse_ip("fd00::1").value(), .prefix_bits = 64});
    return {CallSend{some_order(), 4},
            some_offer(),
            CallReceive{some_offer(), 3, 4},
            ready,
            CallGroup{Rank{2}, 3, parse_ip("10.0.0.1").value()},
            CallCard{{std::byte{9}}},
            CallCards{{{std::byte{9}}, {}}},
            CallProgress{5, 6},
            CallEnd{false, true, true, Rank{2}, "no space"}};
}

/// Both ends of a socket pair.
std::pair<UniqueFd, UniqueFd> socket_pair() {
    std::array<int, 2> fds{-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) == 0);
    return {UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

NodeReport report(std::uint32_t rank, std::uint8_t status) {
    NodeReport made;
    made.rank = rank;
    made.node = "n" + std::to_string(rank);
    made.status = status;
    return made;
}

}  // namespace

TEST_CASE("messages of a call come out as they went in, and no part of one is one") {
    for (const CallMessage& message : all_messages()) {
        const std::vector<std::byte> bytes = encode_call(message);
        const Result<CallMessage> got = decode_call(bytes);
        REQUIRE(got.ok());
        CHECK(*got == message);
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            CHECK_FALSE(decode_call(Bytes{bytes}.first(length)).ok());
        }
    }
}

TEST_CASE("a message of a call of any length passes a socket, whose end is a reason") {
    auto [one, other] = socket_pair();
    CallCards many;
    many.cards.assign(5000, std::vector<std::byte>(60, std::byte{3}));
    REQUIRE(send_call(one.get(), many).ok());
    const Result<CallMessage> got = receive_call(other.get());
    REQUIRE(got.ok());
    CHECK(*got == CallMessage{many});
    one.reset();
    const Result<CallMessage> end = receive_call(other.get());
    REQUIRE_FALSE(end.ok());
    CHECK(end.error().cause() == ECONNRESET);
    CHECK_FALSE(send_call(other.get(), CallEnd{}).ok());
}

TEST_CASE("the last words of one that left messages unread are heard") {
    auto [one, other] = socket_pair();
    REQUIRE(send_call(other.get(), CallCards{}).ok());
    CallEnd last;
    last.why = "the disk is full";
    REQUIRE(send_call(one.get(), last).ok());
    one.reset();
    const Result<CallMessage> got = receive_call(other.get());
    REQUIRE(got.ok());
    CHECK(*got == CallMessage{last});
}

TEST_CASE("reports name every node that failed, and a node that others blame") {
    std::vector<NodeReport> reports{report(4, STAGECAST_NOT_DONE),
                                    report(0, STAGECAST_NOT_DONE)};
    CHECK(failure_text(reports) == "a node failed without saying why");
    CHECK(failure_text({report(0, STAGECAST_WRITTEN), report(2, STAGECAST_LEFT)}).empty());
    reports[0].blamed = 1;
    reports[0].blamed_for = "no progress for 30 s";
    const auto again = decode_reports(encode_reports(reports));
    REQUIRE(again);
    CHECK(*again == reports);
    settle_blame(reports);
    CHECK(reports[1].status == STAGECAST_FAILED);
    CHECK(failure_text(reports) == "rank 0 (n0): no progress for 30 s");
    for (std::uint32_t rank = 1; rank < 5; ++rank) {
        reports.push_back(report(rank, STAGECAST_FAILED));
        reports.back().why = "full";
    }
    CHECK(
        failure_text(reports) ==
        "rank 0 (n0): no progress for 30 s; rank 1 (n1): full; rank 2 (n2): full; and 2 more");
    reports[0].blamed_for = "later";
    settle_blame(reports);  // Nothing changes once a node has failed.
    CHECK(reports[1].why == "no progress for 30 s");
}

}  // namespace stage
