// Tests the messages between daemon and worker.
#include "stager/messages/worker_setup.h"

#include "tests/unit/files/scratch.h"
#include "transport/base/prng.h"
#include "transport/os/descriptors.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

namespace stage {
namespace {

WorkerSetup sample(std::size_t nodes) {
    WorkerSetup setup;
    setup.key = {.job_id = 42, .step_id = 3, .restart = 1};
    setup.rank = Rank{1};
    for (std::size_t i = 0; i < nodes; ++i) {
        setup.nodes.push_back("node-" + std::to_string(i));
    }
    setup.specs = "1;-,/shared/a,";
    setup.work_dir = "/home/alice";
    setup.stage_dir = "/var/spool/stagecast/42";
    setup.dest_subdir = "step.3";
    setup.dest_roots = {"/tmp", "/scratch"};
    setup.max_bytes = 1ULL << 40U;
    setup.session.fill(std::byte{7});
    setup.group_key.fill(std::byte{9});
    setup.group_address = "239.192.68.3";
    setup.group_port = 6831;
    setup.rails = 2;
    setup.endpoints = {{"udp", 3, {std::byte{1}, std::byte{2}}}, {"tcp", 1, {}}};
    setup.protection = Protection::auth;
    setup.rate_max = 200'000'000;
    setup.rate_is_configured = true;
    setup.policies = {.rate = RatePolicy::acker, .peers = PeerPolicy::ring};
    setup.policies.flows = 2;
    setup.transport = Transport::udp;
    setup.stage_timeout = std::chrono::milliseconds{20'000};
    setup.stall_timeout = std::chrono::milliseconds{5000};
    setup.wire_up_timeout = std::chrono::milliseconds{15'000};
    setup.connect_timeout = std::chrono::milliseconds{1500};
    setup.data_ports = "6830-6893";
    setup.linger = std::chrono::milliseconds{60'000};
    setup.cards_follow = true;
    setup.purpose = WorkerPurpose::look;
    setup.keeps_owners = false;
    setup.drops_failed = true;
    setup.manifest = {std::byte{1}, std::byte{0}};
    return setup;
}

struct Pair {
    UniqueFd daemon;
    UniqueFd worker;
};

Pair make_pair_of_sockets() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends.data()) == 0);
    return {UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator{"/proc/self/fd"}) {
        ++count;
    }
    return count;
}

/// A moment later, where another thread closes them.
bool come_to_be_open(std::size_t count) {
    constexpr int kLooks = 2000;
    for (int i = 0; i < kLooks && open_descriptors() != count; ++i) {
        ::poll(nullptr, 0, 5);
    }
    return open_descriptors() == count;
}

/// A datagram of an untrusted process, with or without a descriptor.
void send_raw(int socket, const std::vector<std::byte>& bytes, int descriptor) {
    const std::span beside{&descriptor, descriptor < 0 ? 0U : 1U};
    REQUIRE(send_with_descriptors(socket, bytes, beside).ok());
}

}  // namespace

TEST_CASE("every message to a worker is decoded as it was encoded") {
    const std::vector<ToWorker> messages{sample(2),
                                         WorkerAbort{Blame::user, "scancel"},
                                         WorkerCards{{std::byte{1}, std::byte{2}}},
                                         WorkerRelease{},
                                         WorkerListening{}};
    for (const ToWorker& message : messages) {
        const auto back = decode_to_worker(encode_to_worker(message));
        REQUIRE(back);
        CHECK(*back == message);
    }
}

TEST_CASE("every message of a worker is decoded as it was encoded") {
    WorkerOutcome outcome;
    outcome.state = VerdictState::partial;
    outcome.blame = Blame::user;
    outcome.sentence = "/x: No such file or directory";
    outcome.culprit = Rank{3};
    outcome.paths = {"/tmp/x", "", "/tmp/z"};
    outcome.libs_directories = {"/tmp/x_libs/"};
    outcome.statistics.node.was_handed_over = true;
    outcome.statistics.remarks = "1 socket left out";
    outcome.statistics.flow_packets = {7, 0};
    const std::vector<FromWorker> messages{
        WorkerProgress{.phase = WorkerPhase::transfer, .bytes = 5, .bytes_total = 10},
        WorkerCard{{std::byte{1}}},
        outcome,
        WorkerReleased{outcome.statistics},
        WorkerSeek{.stamp = {std::byte{7}}},
        WorkerBegun{.stamp = {std::byte{7}}, .bytes = 9},
        WorkerDropped{Rank{7}, Blame::node, "nothing was heard of it"},
        WorkerLeft{{"U/tmp/x", "/tmp/.x.stagecast.42.0"}}};
    for (const FromWorker& message : messages) {
        const auto back = decode_from_worker(encode_from_worker(message));
        REQUIRE(back);
        CHECK(*back == message);
    }
}

TEST_CASE("a truncated or extended message, or one of another version, is refused") {
    std::vector<std::byte> bytes = encode_to_worker(sample(3));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        CHECK_FALSE(decode_to_worker(Bytes{bytes}.first(length)));
    }
    bytes.push_back(std::byte{0});
    CHECK_FALSE(decode_to_worker(bytes));
    bytes.pop_back();
    bytes[0] = std::byte{99};
    CHECK_FALSE(decode_to_worker(bytes));
    CHECK_FALSE(decode_from_worker(encode_to_worker(WorkerRelease{})));
}

TEST_CASE("a rank outside of the nodes is refused") {
    WorkerSetup setup = sample(2);
    setup.rank = Rank{2};
    CHECK_FALSE(decode_to_worker(encode_to_worker(setup)));
}

TEST_CASE("garbage from a worker is refused, whatever it is") {
    WorkerOutcome outcome;
    outcome.sentence = "sentence";
    outcome.paths = {"a", "b"};
    const std::vector<std::byte> whole = encode_from_worker(outcome);
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        Prng prng{seed};
        std::vector<std::byte> bytes = whole;
        for (std::uint64_t flips = 1 + prng.below(4); flips > 0; --flips) {
            bytes[2 + prng.below(bytes.size() - 2)] = static_cast<std::byte>(prng.below(256));
        }
        const auto back = decode_from_worker(bytes);
        CAPTURE(seed);
        CHECK((!back || encode_from_worker(*back) == bytes));
    }
}

TEST_CASE("error texts that are too long are truncated, not lost") {
    const auto back =
        decode_to_worker(encode_to_worker(WorkerAbort{Blame::node, std::string(10'000, 'x')}));
    REQUIRE(back);
    CHECK(std::get<WorkerAbort>(*back).sentence.size() == kMaxSentenceBytes);
}

TEST_CASE("a message crosses the socket whole, however long") {
    const Pair pair = make_pair_of_sockets();
    const std::size_t before = open_descriptors();
    const std::size_t nodes = GENERATE(2U, 10'000U, 65'535U);
    const WorkerSetup setup = sample(nodes);
    REQUIRE(send_to_peer(pair.daemon.get(), encode_to_worker(setup)).ok());
    const auto received = receive_from_peer(pair.worker.get(), kMaxToWorker);
    REQUIRE(received);
    REQUIRE(received->kind == PeerMessage::Kind::message);
    const auto back = decode_to_worker(received->message);
    REQUIRE(back);
    CHECK(std::get<WorkerSetup>(*back) == setup);
    CHECK(come_to_be_open(before));
}

TEST_CASE("the socket reports that nothing came, and its end") {
    Pair pair = make_pair_of_sockets();
    CHECK(receive_from_peer(pair.worker.get(), kMaxToWorker)->kind ==
          PeerMessage::Kind::nothing_yet);
    pair.daemon.reset();
    CHECK(receive_from_peer(pair.worker.get(), kMaxToWorker)->kind ==
          PeerMessage::Kind::closed);
    const Status sent = send_to_peer(pair.worker.get(), encode_from_worker(WorkerProgress{}));
    REQUIRE_FALSE(sent.ok());
    CHECK(sent.error().cause() == EPIPE);
}

TEST_CASE("a last message is received although its sender left something unread") {
    auto pair = make_pair_of_sockets();
    REQUIRE(send_to_peer(pair.daemon.get(), encode_to_worker(WorkerRelease{})).ok());
    REQUIRE(send_to_peer(pair.worker.get(), encode_from_worker(WorkerReleased{})).ok());
    pair.worker.reset();
    const auto words = receive_from_peer(pair.daemon.get(), kMaxFromWorker);
    REQUIRE(words);
    CHECK(words->kind == PeerMessage::Kind::message);
    const auto end = receive_from_peer(pair.daemon.get(), kMaxFromWorker);
    REQUIRE(end);
    CHECK(end->kind == PeerMessage::Kind::closed);
}

TEST_CASE("sending to a full socket fails and sends nothing") {
    const Pair pair = make_pair_of_sockets();
    const std::vector<std::byte> message = encode_from_worker(WorkerReleased{});
    std::size_t sent = 0;
    Status last;
    while ((last = send_to_peer(pair.worker.get(), message)).ok()) {
        ++sent;
    }
    CHECK(last.error().cause() == EAGAIN);
    std::size_t received = 0;
    while (receive_from_peer(pair.daemon.get(), kMaxFromWorker)->kind ==
           PeerMessage::Kind::message) {
        ++received;
    }
    CHECK(received == sent);
}

TEST_CASE("invalid datagrams are refused and their descriptors closed") {
    const Pair pair = make_pair_of_sockets();
    const std::size_t before = open_descriptors();
    const auto memfd_of = [](std::uint64_t length) {
        ByteWriter writer;
        return writer.u8(2).u64(length).take();
    };
    const UniqueFd empty{::memfd_create("empty", MFD_CLOEXEC)};
    REQUIRE(empty);
    SECTION("no carriage") {
        send_raw(pair.worker.get(), {std::byte{9}}, -1);
        CHECK_FALSE(receive_from_peer(pair.daemon.get(), kMaxFromWorker).ok());
    }
    SECTION("a memfd that is shorter than claimed") {
        send_raw(pair.worker.get(), memfd_of(100), empty.get());
        CHECK_FALSE(receive_from_peer(pair.daemon.get(), kMaxFromWorker).ok());
    }
    SECTION("a memfd that claims too much") {
        send_raw(pair.worker.get(), memfd_of(kMaxFromWorker + 1), empty.get());
        CHECK_FALSE(receive_from_peer(pair.daemon.get(), kMaxFromWorker).ok());
    }
    SECTION("a memfd that is not there") {
        send_raw(pair.worker.get(), memfd_of(0), -1);
        CHECK_FALSE(receive_from_peer(pair.daemon.get(), kMaxFromWorker).ok());
    }
    SECTION("a pipe instead") {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        send_raw(pair.worker.get(), memfd_of(10), ends[0]);
        ::close(ends[0]);
        ::close(ends[1]);
        CHECK_FALSE(receive_from_peer(pair.daemon.get(), kMaxFromWorker).ok());
    }
    SECTION("a file instead, long enough") {
        const test::Scratch scratch;
        const std::string path = scratch.write("long", std::string(100, 'x'));
        const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
        send_raw(pair.worker.get(), memfd_of(100), file.get());
        CHECK_FALSE(receive_from_peer(pair.daemon.get(), kMaxFromWorker).ok());
    }
    SECTION("two descriptors") {
        const std::array fds{empty.get(), pair.worker.get()};
        const std::vector<std::byte> message{std::byte{1}, std::byte{1}};
        REQUIRE(send_with_descriptors(pair.worker.get(), message, fds).ok());
        CHECK_FALSE(receive_from_peer(pair.daemon.get(), kMaxFromWorker).ok());
    }
    CHECK(come_to_be_open(before + 1));  // `empty`
}

}  // namespace stage
