#include "transport/run/flows.h"

#include "transport/run/flow_reader.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace stage {
namespace {

constexpr Rank kSource{0};
constexpr Rank kReceiver{1};
constexpr int kFlowWaitMs = 20'000;

using Packet = std::vector<std::byte>;

/// What a test puts into a flow is what its thread receives, as many packets a call as were put
/// together. While it is held back the thread is within receive().
class FakeFlow final : public FlowInbox {
  public:
    Status receive(std::size_t set, std::vector<ReceivedPacket>& packets) override {
        std::unique_lock lock{mutex_};
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
        if (waiting_.empty()) {
            return fault_;
        }
        sets_[set] = std::move(waiting_.front());
        waiting_.pop_front();
        signal();
        is_inside_ = true;
        change_.notify_all();
        change_.wait(lock, [this] { return !is_held_; });
        is_inside_ = false;
        for (Packet& packet : sets_[set]) {
            packets.push_back({.bytes = packet, .to_group = true, .stamp_ns = stamp_ns_});
            ++counters_.packets_received;
        }
        return {};
    }
    [[nodiscard]] int descriptor() const override { return event_.get(); }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }

    void put(std::vector<Packet> together) {
        const std::lock_guard lock{mutex_};
        waiting_.push_back(std::move(together));
        signal();
    }
    /// Sets the arrival time of packets that are put from now on.
    void stamp(Duration time) {
        const std::lock_guard lock{mutex_};
        stamp_ns_ = time.count();
    }
    void fail() {
        const std::lock_guard lock{mutex_};
        fault_ = Error{Blame::node, "the flow is dead"};
        const std::uint64_t one = 1;
        REQUIRE(::write(event_.get(), &one, sizeof one) == sizeof one);
    }
    /// Whatever the thread takes out of the flow now stays in its hands.
    void hold() {
        const std::lock_guard lock{mutex_};
        is_held_ = true;
    }
    void wait_until_inside() {
        std::unique_lock lock{mutex_};
        change_.wait(lock, [this] { return is_inside_; });
    }
    void let_go() {
        const std::lock_guard lock{mutex_};
        is_held_ = false;
        change_.notify_all();
    }

  private:
    /// Readable while packets wait.
    void signal() {
        const std::uint64_t one = 1;
        if (!waiting_.empty()) {
            [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
        }
    }

    UniqueFd event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::mutex mutex_;
    std::condition_variable change_;
    std::deque<std::vector<Packet>> waiting_;
    std::array<std::vector<Packet>, kFlowSets> sets_;
    std::int64_t stamp_ns_ = 7;
    bool is_held_ = false;
    bool is_inside_ = false;
    Status fault_;
    DriverCounters counters_;
};

seal::SessionKeys keys_of(Rank own, Protection protection) {
    seal::SessionKeys keys;
    keys.protection = protection;
    keys.group.fill(std::byte{7});
    keys.members.resize(3);
    for (std::size_t rank = 0; rank < keys.members.size(); ++rank) {
        keys.members[rank].fill(static_cast<std::byte>(rank + 1));
    }
    keys.own = own;
    return keys;
}

/// A source, and a receiver with this number of flows.
struct Group {
    explicit Group(std::size_t flows,
                   Protection protection = Protection::encrypt,
                   Duration skew = {})
        : source{keys_of(kSource, protection)}, receiver{keys_of(kReceiver, protection)} {
        std::vector<std::unique_ptr<FlowInbox>> inboxes;
        for (std::size_t i = 0; i < flows; ++i) {
            auto inbox = std::make_unique<FakeFlow>();
            fakes.push_back(inbox.get());
            inboxes.push_back(std::move(inbox));
        }
        merged.emplace(read_flows(std::move(inboxes), receiver, kSource), skew);
    }

    Packet packet(std::uint8_t flow,
                  std::uint64_t number,
                  wire::PacketType type = wire::PacketType::data) {
        const Bytes body = std::as_bytes(std::span{"payload"});
        wire::Header header;
        header.type = type;
        header.flow = Flow{flow};
        header.session = source.demux();
        header.rank = kSource;
        header.packet_number = number;
        Packet bytes(wire::kHeaderBytes + body.size() + source.tag_bytes());
        const MutableBytes all{bytes};
        const MutableBytes room = all.subspan(wire::kHeaderBytes, body.size());
        std::ranges::copy(body, room.begin());
        wire::write_header(header, all.first(wire::kHeaderBytes));
        source.seal(
            number, all.first(wire::kHeaderBytes), body, room, all.last(source.tag_bytes()));
        return bytes;
    }

    /// The numbers of the next packets, once `count` are there.
    std::vector<std::uint64_t> take(std::size_t count) {
        std::vector<std::uint64_t> numbers;
        while (numbers.size() < count) {
            std::vector<FlowPacket> packets;
            REQUIRE(merged->take(packets, 64));
            for (const FlowPacket& one : packets) {
                numbers.push_back(one.opened.header.packet_number);
                CHECK(one.stamp_ns == 7);
                CHECK(std::ranges::equal(one.opened.body, std::as_bytes(std::span{"payload"})));
            }
            if (packets.empty()) {
                wait();
            }
        }
        return numbers;
    }
    void wait() const {
        pollfd wait{.fd = merged->event_fd(), .events = POLLIN, .revents = 0};
        REQUIRE(::poll(&wait, 1, kFlowWaitMs) == 1);
    }

    seal::SessionSeal source;
    seal::SessionSeal receiver;
    std::vector<FakeFlow*> fakes;
    std::optional<Flows> merged;
};

using Numbers = std::vector<std::uint64_t>;

TEST_CASE("what flows bring is returned in the order of its numbers") {
    const auto protection = GENERATE(Protection::none, Protection::auth, Protection::encrypt);
    Group group{3, protection};
    group.fakes[1]->hold();  // Nothing is returned before flow 1 has shown what it has.
    group.fakes[1]->put({group.packet(1, 3), group.packet(1, 4), group.packet(1, 9)});
    group.fakes[1]->wait_until_inside();
    group.fakes[0]->put({group.packet(0, 1), group.packet(0, 2), group.packet(0, 7)});
    group.fakes[2]->put({group.packet(2, 5)});
    group.fakes[2]->put({group.packet(2, 6), group.packet(2, 8)});
    group.fakes[1]->let_go();
    CHECK(group.take(9) == Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE(
    "a flow whose thread has packets in hand holds the others back, an idle one doesn't") {
    Group group{2};
    group.fakes[0]->put({group.packet(0, 5)});
    CHECK(group.take(1) == Numbers{5});
    std::vector<FlowPacket> packets;
    REQUIRE(group.merged->take(packets, 64));
    CHECK(packets.empty());

    group.fakes[1]->hold();
    group.fakes[1]->put({group.packet(1, 6)});
    group.fakes[1]->wait_until_inside();
    group.fakes[0]->put({group.packet(0, 7)});
    group.wait();  // Flow 0 has handed it over.
    REQUIRE(group.merged->take(packets, 64));
    CHECK(packets.empty());
    group.fakes[1]->let_go();
    CHECK(group.take(2) == Numbers{6, 7});
}

TEST_CASE("on rails a packet waits for a flow that was heard a moment ago, and not for ever") {
    constexpr Duration kSkew = std::chrono::milliseconds{20};
    constexpr Duration kNow{7};
    Group group{2, Protection::encrypt, kSkew};
    // Of what was put, the part that is returned now.
    const auto taken = [&](Duration now) {
        Numbers numbers;
        for (;;) {
            std::vector<FlowPacket> packets;
            REQUIRE(group.merged->take(packets, 64, now));
            for (const FlowPacket& one : packets) {
                numbers.push_back(one.opened.header.packet_number);
            }
            if (!packets.empty() || group.merged->wait_max()) {
                return numbers;
            }
            group.wait();
        }
    };
    group.fakes[0]->put({group.packet(0, 1)});
    CHECK(group.take(1) == Numbers{1});  // Flow 1 has never been heard.
    group.fakes[1]->put({group.packet(1, 3)});
    CHECK(taken(kNow + kSkew / 2).empty());
    CHECK(group.merged->wait_max() == kSkew / 2);
    CHECK(taken(kNow + kSkew) == Numbers{3});
    CHECK_FALSE(group.merged->wait_max());

    group.fakes[0]->put({group.packet(0, 5)});
    CHECK(taken(kNow).empty());
    group.fakes[1]->put({group.packet(1, 4)});
    CHECK(taken(kNow) == Numbers{4});
    CHECK(taken(kNow + kSkew) == Numbers{5});

    // Flow 1 is silent for long, or the clock was set.
    for (const Duration later : {Duration{std::chrono::milliseconds{200}}, Duration{8}}) {
        group.fakes[0]->stamp(later);
        group.fakes[0]->put({group.packet(0, later.count() > 8 ? 6U : 7U)});
        CHECK(taken(std::chrono::milliseconds{200}).size() == 1);
    }
}

// A bond hashes flows to different links: what one interface brings is reordered like rails.
TEST_CASE("a flow whose packets come late is waited for once that was seen") {
    using std::chrono::milliseconds;
    Group group{2};
    Duration now{milliseconds{1000}};
    const auto put = [&](std::uint8_t flow, std::uint64_t number) {
        group.fakes[flow]->stamp(now);
        group.fakes[flow]->put({group.packet(flow, number)});
    };
    // What is returned now, or nothing once it is known that there is something to wait for.
    const auto taken = [&] {
        Numbers numbers;
        for (;;) {
            std::vector<FlowPacket> packets;
            REQUIRE(group.merged->take(packets, 64, now));
            for (const FlowPacket& one : packets) {
                numbers.push_back(one.opened.header.packet_number);
            }
            if (!packets.empty() || group.merged->wait_max()) {
                return numbers;
            }
            group.wait();
        }
    };
    put(0, 2);
    CHECK(taken() == Numbers{2});
    now += milliseconds{5};
    put(1, 1);  // So late; nothing can be done about it.
    CHECK(taken() == Numbers{1});
    now += milliseconds{5};
    put(0, 4);
    CHECK(taken().empty());
    REQUIRE(group.merged->wait_max());
    CHECK(*group.merged->wait_max() >= milliseconds{5});
    now += milliseconds{5};
    put(1, 3);
    CHECK(taken() == Numbers{3});
    CHECK(taken().empty());
    now += milliseconds{5};
    CHECK(taken() == Numbers{4});
}

TEST_CASE("more batches than a flow has buffers for wait in its socket") {
    Group group{2};
    Numbers expected;
    for (std::uint64_t number = 1; number <= 40; ++number) {
        const auto flow = static_cast<std::uint8_t>(number % 2);
        group.fakes[flow]->put({group.packet(flow, number)});
        expected.push_back(number);
    }
    Numbers got;
    while (got.size() < expected.size()) {
        const Numbers more = group.take(1);
        got.insert(got.end(), more.begin(), more.end());
    }
    CHECK(got == expected);
}

TEST_CASE("a flow that was silent for long counts on from what the others brought") {
    const auto protection = GENERATE(Protection::none, Protection::encrypt);
    Group group{2, protection};
    constexpr std::uint64_t kFar = 200'000;
    group.fakes[0]->put({group.packet(0, kFar, wire::PacketType::end)});
    CHECK(group.take(1) == Numbers{kFar});
    group.fakes[1]->put({group.packet(1, kFar + 1)});
    CHECK(group.take(1) == Numbers{kFar + 1});
    // Beyond an epoch, too: another key.
    constexpr std::uint64_t kNextEpoch = (std::uint64_t{1} << seal::kEpochShift) + 5;
    group.fakes[1]->put({group.packet(1, kNextEpoch, wire::PacketType::end)});
    CHECK(group.take(1) == Numbers{kNextEpoch});
    group.fakes[0]->put({group.packet(0, kNextEpoch + 1)});
    CHECK(group.take(1) == Numbers{kNextEpoch + 1});
}

TEST_CASE("a flow takes the source's packets of its own only, and counts the rest") {
    Group group{2};
    Packet forged = group.packet(1, 11);
    forged.back() ^= std::byte{1};
    Packet of_another = group.packet(1, 12);
    of_another[7] = std::byte{2};  // rank 2
    group.fakes[1]->put({group.packet(0, 10), forged, of_another, Packet(5)});
    group.fakes[1]->put({group.packet(1, 13)});
    CHECK(group.take(1) == Numbers{13});
    group.merged->stop();
    const seal::SealCounters refused = group.merged->refused();
    CHECK(refused.malformed == 2);
    CHECK(refused.forged == 1);
    CHECK(refused.unknown_rank == 1);
    CHECK(group.merged->received() == Numbers{0, 5});
    CHECK(group.merged->counters().packets_received == 5);
}

TEST_CASE("a control packet is admitted once, by whichever way it came") {
    Group group{2};
    wire::Header header;
    header.type = wire::PacketType::end;
    header.rank = kSource;
    header.packet_number = 40;
    CHECK(group.receiver.admit(header));
    CHECK_FALSE(group.receiver.admit(header));
    Packet by_unicast = group.packet(0, 40, wire::PacketType::end);
    CHECK_FALSE(group.receiver.open(by_unicast));
    CHECK(group.receiver.counters().replayed == 2);
    // What flows heard is where unicast DATA counts on from.
    header.packet_number = 300'000;
    CHECK(group.receiver.admit(header));
    Packet data = group.packet(0, 300'001);
    const auto opened = group.receiver.open(data);
    REQUIRE(opened);
    CHECK(opened->header.packet_number == 300'001);
}

TEST_CASE("a dead flow is an error of all, and ends no program") {
    Group group{2};
    group.fakes[1]->fail();
    group.wait();
    std::vector<FlowPacket> packets;
    Status taken;
    while (taken) {
        taken = group.merged->take(packets, 64);
    }
    CHECK(taken.error().sentence() == "the flow is dead");
}

TEST_CASE("flows end while packets wait, and while their threads wait for buffers") {
    Group group{4};
    for (std::uint64_t number = 1; number <= 100; ++number) {
        const auto flow = static_cast<std::uint8_t>(number % 4);
        group.fakes[flow]->put({group.packet(flow, number)});
    }
    static_cast<void>(group.take(1));
    group.merged.reset();
}

}  // namespace
}  // namespace stage
