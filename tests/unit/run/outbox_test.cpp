#include "transport/run/outbox.h"

#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>

namespace stage {
namespace {

constexpr std::uint16_t kChunk = 1000;
constexpr Rank kOutboxSource{0};
constexpr Rank kOutboxReceiver{1};
constexpr BlockIndex kOutboxBlock{3};

/// Keeps every train it takes; refuses the first `refusals`.
class Recorder final : public Driver {
  public:
    explicit Recorder(std::size_t outlets = 1) : rails{outlets} {}

    Status receive(std::vector<ReceivedPacket>&, Readable) override { return {}; }
    Result<Sent> send(const Train& train) override {
        if (std::ranges::find(full, outlet_of(train.target)) != full.end()) {
            return Sent::would_block;
        }
        const bool is_full = takes > 0 && trains % (takes + 1) == takes;
        if (refusals > 0 || is_full) {
            refusals -= refusals > 0 ? 1 : 0;
            trains += is_full ? 1 : 0;
            return Sent::would_block;
        }
        std::vector<std::byte> whole;
        for (const Bytes piece : train.pieces) {
            whole.insert(whole.end(), piece.begin(), piece.end());
            copied = copied && !is_within(piece, block);
        }
        REQUIRE(whole.size() == train.bytes);
        for (Bytes rest = whole; !rest.empty();) {
            const auto size = std::min<std::size_t>(train.packet_bytes, rest.size());
            packets.emplace_back(rest.begin(), rest.begin() + static_cast<long>(size));
            rest = rest.subspan(size);
        }
        ++trains;
        flows.push_back(train.target.flow);
        return Sent::all;
    }
    [[nodiscard]] bool carries(Flow flow) override {
        return std::ranges::find(dead, flow) == dead.end();
    }
    [[nodiscard]] std::size_t outlets() const override { return rails; }
    [[nodiscard]] std::size_t outlet_of(const TrainTarget& target) const override {
        return target.to_group ? target.flow.index() % rails : 0;
    }
    [[nodiscard]] std::vector<int> descriptors() const override { return {}; }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "recorder"; }

    static bool is_within(Bytes piece, Bytes whole) {
        return piece.data() >= whole.data() && piece.data() < whole.data() + whole.size();
    }

    Bytes block;         ///< The block that should leave without a copy.
    bool copied = true;  ///< No piece was one of `block`.
    int refusals = 0;
    int takes = 0;  ///< After this number of trains one is refused; 0: none.
    int trains = 0;
    std::vector<std::vector<std::byte>> packets;
    std::vector<Flow> flows;  ///< By train.
    std::vector<Flow> dead;
    std::size_t rails;
    std::vector<std::size_t> full;  ///< Outlets that take nothing.

  private:
    DriverCounters counters_;
};

seal::SessionKeys outbox_keys(Rank own, Protection protection) {
    seal::SessionKeys keys;
    keys.protection = protection;
    keys.group.fill(std::byte{7});
    keys.members.resize(2);
    keys.members[0].fill(std::byte{1});
    keys.members[1].fill(std::byte{2});
    keys.own = own;
    return keys;
}

core::CoreConfig config() {
    core::CoreConfig config;
    config.own = kOutboxSource;
    config.chunk_bytes = kChunk;
    return config;
}

core::SendBatch chunks(std::uint16_t first, std::uint16_t count) {
    core::Send send;
    send.to.to_group = true;
    send.packet_number = 20'000;
    send.block = kOutboxBlock;
    send.first = ChunkIndex{first};
    send.count = count;
    core::SendBatch batch;
    batch.sends.push_back(send);
    return batch;
}

TEST_CASE("chunks leave sealed, in order, each under its own number, and open at the peer") {
    const auto protection = GENERATE(Protection::none, Protection::auth, Protection::encrypt);
    CAPTURE(word_of(protection));
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, protection)};
    seal::SessionSeal opener{outbox_keys(kOutboxReceiver, protection)};
    BlockStore blocks{1};
    const MutableBytes block = blocks.acquire(kOutboxBlock);
    for (std::size_t i = 0; i < 2500; ++i) {
        block[i] = static_cast<std::byte>(i % 251);
    }
    blocks.set_extent(kOutboxBlock, 2500);
    Outbox outbox{driver, sealer, blocks, config()};
    driver.refusals = GENERATE(0, 1);
    driver.block = block;

    outbox.add(chunks(0, 3), config().chunk_bytes);
    REQUIRE(outbox.flush({}));
    if (!outbox.is_empty()) {
        REQUIRE(outbox.flush({}));
    }
    CHECK(outbox.is_empty());
    REQUIRE(driver.packets.size() == 3);
    CHECK(driver.trains == 1);
    CHECK(driver.copied == (protection == Protection::encrypt));

    std::size_t offset = 0;
    for (std::uint16_t i = 0; i < 3; ++i) {
        const auto opened = opener.open(driver.packets[i]);
        REQUIRE(opened);
        CHECK(opened->header.packet_number == 20'000U + i);
        CHECK(opened->header.chunk == ChunkIndex{i});
        CHECK(opened->header.block == kOutboxBlock);
        CHECK(opened->body.size() == (i < 2 ? kChunk : 500U));
        CHECK(std::ranges::equal(opened->body,
                                 Bytes{block}.subspan(offset, opened->body.size())));
        offset += opened->body.size();
    }
    CHECK(opener.counters().refused() == 0);
}

TEST_CASE("trains to the group go by the flows in turn, each whole, and say so") {
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, Protection::encrypt)};
    seal::SessionSeal opener{outbox_keys(kOutboxReceiver, Protection::encrypt)};
    BlockStore blocks{1};
    static_cast<void>(blocks.acquire(kOutboxBlock));
    blocks.set_extent(kOutboxBlock, 100 * kChunk);
    Outbox outbox{driver, sealer, blocks, config(), 3};
    outbox.add(chunks(0, 100), config().chunk_bytes);  // 63 packets are a train
    core::SendBatch to_one = chunks(0, 1);
    to_one.sends.front().to = {.to_group = false, .peer = kOutboxReceiver};
    outbox.add(std::move(to_one), config().chunk_bytes);
    outbox.add(chunks(0, 1), config().chunk_bytes);  // What is sent again goes elsewhere.
    outbox.add(chunks(0, 1), config().chunk_bytes);
    REQUIRE(outbox.flush({}));
    REQUIRE(driver.flows == std::vector<Flow>{Flow{0}, Flow{1}, Flow{0}, Flow{2}, Flow{0}});
    REQUIRE(driver.packets.size() == 103);
    std::vector<std::size_t> of_flow(3);
    for (auto& packet : driver.packets) {
        const auto opened = opener.open(packet);
        REQUIRE(opened);
        ++of_flow.at(opened->header.flow.index());
    }
    CHECK(of_flow == std::vector<std::size_t>{65, 37, 1});
}

core::SendBatch control(wire::PacketType type, std::uint64_t number) {
    core::Send send;
    send.type = type;
    send.to.to_group = true;
    send.packet_number = number;
    send.body = {std::byte{1}};
    core::SendBatch batch;
    batch.sends.push_back(send);
    return batch;
}

TEST_CASE("packets that are repeated alternately each take all flows") {
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, Protection::encrypt)};
    BlockStore blocks{1};
    static_cast<void>(blocks.acquire(kOutboxBlock));
    blocks.set_extent(kOutboxBlock, 100 * kChunk);
    const std::uint8_t flows = GENERATE(std::uint8_t{2}, std::uint8_t{4});
    CAPTURE(flows);
    Outbox outbox{driver, sealer, blocks, config(), flows};
    std::uint64_t number = 0;
    for (std::uint8_t round = 0; round < 2 * flows; ++round) {
        outbox.add(control(wire::PacketType::offer, ++number), config().chunk_bytes);
        outbox.add(chunks(0, 1), config().chunk_bytes);
        outbox.add(control(wire::PacketType::end, ++number), config().chunk_bytes);
        core::SendBatch repeat = chunks(0, 1);
        repeat.sends.front().flags = wire::kFlagRepeat;
        outbox.add(std::move(repeat), config().chunk_bytes);
        REQUIRE(outbox.flush({}));
        CHECK(std::exchange(driver.flows, {}) ==
              std::vector<Flow>(4, Flow{static_cast<std::uint8_t>(round % flows)}));
    }
}

TEST_CASE("a flow that carries nothing is passed over until it does again") {
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, Protection::encrypt)};
    BlockStore blocks{1};
    static_cast<void>(blocks.acquire(kOutboxBlock));
    blocks.set_extent(kOutboxBlock, 100 * kChunk);
    Outbox outbox{driver, sealer, blocks, config(), 3};
    const auto send = [&](int trains) {
        for (; trains > 0; --trains) {
            outbox.add(chunks(0, 1), config().chunk_bytes);
            REQUIRE(outbox.flush({}));
        }
        return std::exchange(driver.flows, {});
    };
    driver.dead = {Flow{1}};
    CHECK(send(3) == std::vector<Flow>{Flow{0}, Flow{2}, Flow{0}});
    driver.dead = {};
    CHECK(send(3) == std::vector<Flow>{Flow{1}, Flow{2}, Flow{0}});
    driver.dead = {Flow{0}, Flow{1}, Flow{2}};
    CHECK(send(3).size() == 3);
}

TEST_CASE("a block is needed until its last train has left") {
    const auto protection = GENERATE(Protection::auth, Protection::encrypt);
    CAPTURE(word_of(protection));
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, protection)};
    BlockStore blocks{1};
    static_cast<void>(blocks.acquire(kOutboxBlock));
    blocks.set_extent(kOutboxBlock, 3 * kChunk);
    Outbox outbox{driver, sealer, blocks, config()};
    CHECK_FALSE(outbox.needs(kOutboxBlock));
    outbox.add(chunks(0, 3), config().chunk_bytes);
    CHECK(outbox.needs(kOutboxBlock));
    CHECK_FALSE(outbox.needs(BlockIndex{4}));
    driver.refusals = 1;
    REQUIRE(outbox.flush({}));
    REQUIRE_FALSE(outbox.is_empty());
    CHECK(outbox.needs(kOutboxBlock));
    REQUIRE(outbox.flush({}));
    CHECK_FALSE(outbox.needs(kOutboxBlock));
}

TEST_CASE("copies of a control packet are one train, each under its own number") {
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, Protection::encrypt)};
    seal::SessionSeal opener{outbox_keys(kOutboxReceiver, Protection::encrypt)};
    BlockStore blocks{1};
    Outbox outbox{driver, sealer, blocks, config()};
    core::Send send;
    send.type = wire::PacketType::end;
    send.to.to_group = true;
    send.packet_number = 7;
    send.count = 3;
    send.body = {std::byte{1}, std::byte{2}};
    core::SendBatch batch;
    batch.sends = {send};
    outbox.add(std::move(batch), config().chunk_bytes);
    REQUIRE(outbox.flush({}));
    CHECK(driver.trains == 1);
    REQUIRE(driver.packets.size() == 3);
    for (std::uint64_t copy = 0; copy < 3; ++copy) {
        const auto opened = opener.open(driver.packets[copy]);
        REQUIRE(opened);
        CHECK(opened->header.packet_number == 7 + copy);
        CHECK(std::ranges::equal(opened->body, send.body));
    }
}

TEST_CASE("what goes to one member by a flow says so") {
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, Protection::encrypt)};
    seal::SessionSeal opener{outbox_keys(kOutboxReceiver, Protection::encrypt)};
    BlockStore blocks{1};
    Outbox outbox{driver, sealer, blocks, config()};
    core::SendBatch batch;
    for (const std::uint8_t flow : {std::uint8_t{0}, std::uint8_t{1}}) {
        core::Send send;
        send.type = wire::PacketType::ready;
        send.to = {.to_group = false, .peer = kOutboxReceiver, .flow = Flow{flow}};
        send.packet_number = 7U + flow;
        batch.sends.push_back(send);
    }
    outbox.add(std::move(batch), config().chunk_bytes);
    REQUIRE(outbox.flush({}));
    CHECK(driver.flows == std::vector{Flow{0}, Flow{1}});
    REQUIRE(driver.packets.size() == 2);
    for (const std::uint8_t flow : {std::uint8_t{0}, std::uint8_t{1}}) {
        const auto opened = opener.open(driver.packets[flow]);
        REQUIRE(opened);
        CHECK(opened->header.flow == Flow{flow});
    }
}

TEST_CASE("what the driver refused in the middle leaves later, once and in order") {
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, Protection::encrypt)};
    seal::SessionSeal opener{outbox_keys(kOutboxReceiver, Protection::encrypt)};
    BlockStore blocks{1};
    Outbox outbox{driver, sealer, blocks, config()};
    core::SendBatch batch;
    for (std::uint64_t number = 1; number <= 40; ++number) {
        core::Send send;
        send.type = wire::PacketType::end;
        send.to.to_group = true;
        send.packet_number = number;
        send.body.assign(number, std::byte{9});
        batch.sends.push_back(send);
    }
    outbox.add(std::move(batch), config().chunk_bytes);
    driver.takes = 5;  // At a time.
    int flushes = 0;
    while (!outbox.is_empty()) {
        REQUIRE(outbox.flush({}));
        ++flushes;
    }
    CHECK(flushes > 5);
    REQUIRE(driver.packets.size() == 40);
    for (std::uint64_t number = 1; number <= 40; ++number) {
        const auto opened = opener.open(driver.packets[number - 1]);
        REQUIRE(opened);
        CHECK(opened->header.packet_number == number);
        CHECK(opened->body.size() == number);
    }
}

core::SendBatch control(std::uint64_t number, bool to_group = false) {
    core::Send send;
    send.type = wire::PacketType::report;
    send.to = {.to_group = to_group, .peer = kOutboxReceiver};
    send.packet_number = number;
    send.body.assign(8, std::byte{1});
    core::SendBatch batch;
    batch.sends.push_back(std::move(send));
    return batch;
}

/// A source with two rails, and a block to send.
struct TwoRails {
    TwoRails() {
        static_cast<void>(blocks.acquire(kOutboxBlock));
        blocks.set_extent(kOutboxBlock, 100 * kChunk);
    }

    void send(core::SendBatch batch, Duration now = {}) {
        outbox.add(std::move(batch), kChunk);
        REQUIRE(outbox.flush(Instant{now}));
    }
    [[nodiscard]] wire::PacketType type_of(std::size_t packet) const {
        wire::HeaderFault fault{};
        return wire::read_header(driver.packets.at(packet), fault)->type;
    }

    Recorder driver{2};
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, Protection::auth)};
    BlockStore blocks{1};
    Outbox outbox{driver, sealer, blocks, config(), 2};
};

TEST_CASE("an outlet that is full holds up no other") {
    TwoRails source;
    source.driver.full = {1};
    for (int i = 0; i < 4; ++i) {
        source.send(chunks(0, 1));
    }
    source.send(control(9));
    // The second waits for its rail, the others leave by the first.
    CHECK(source.driver.packets.size() == 4);
    CHECK(source.outbox.full_outlets() == 2U);
    CHECK(source.outbox.has_room());
    source.driver.full = {};
    REQUIRE(source.outbox.flush({}));
    CHECK(source.driver.packets.size() == 5);
    CHECK(source.outbox.is_empty());

    source.driver.full = {0};
    source.driver.flows.clear();
    source.send(control(10));
    for (int i = 0; i < 4; ++i) {
        source.send(chunks(0, 1));
    }
    CHECK(source.driver.flows == std::vector<Flow>(4, Flow{1}));
}

TEST_CASE("what waits for a full rail does not go by one that is down") {
    TwoRails source;
    source.driver.dead = {Flow{1}};
    source.driver.full = {0};
    source.send(chunks(0, 1));
    source.send(chunks(1, 1));
    CHECK(source.driver.flows.empty());
    source.driver.full = {};
    REQUIRE(source.outbox.flush({}));
    CHECK(source.driver.flows == std::vector<Flow>(2, Flow{0}));
}

TEST_CASE("a control packet to one member overtakes DATA that was refused, and no other does") {
    TwoRails source;
    source.driver.full = {0, 1};
    source.send(chunks(0, 3));
    source.send(chunks(0, 3));
    source.send(control(9));
    source.send(control(10, true));
    source.driver.full = {};
    REQUIRE(source.outbox.flush({}));
    REQUIRE(source.driver.packets.size() == 8);
    CHECK(source.type_of(0) == wire::PacketType::report);
    CHECK(source.type_of(1) == wire::PacketType::data);
    CHECK(source.type_of(7) == wire::PacketType::report);
    CHECK(source.outbox.is_empty());
}

TEST_CASE(
    "what an outlet refuses for long is lost, and its flows carry nothing until it takes") {
    constexpr Duration kSoon = Outbox::kStuck / 2;
    TwoRails source;
    source.driver.full = {1};
    source.send(chunks(0, 1));
    source.send(chunks(0, 1));
    source.send(chunks(0, 1), kSoon);
    CHECK_FALSE(source.outbox.is_empty());
    CHECK(source.outbox.needs(kOutboxBlock));
    REQUIRE(source.outbox.flush(Instant{Outbox::kStuck}));
    CHECK(source.outbox.is_empty());
    CHECK_FALSE(source.outbox.needs(kOutboxBlock));

    source.driver.full = {};
    source.driver.flows.clear();
    source.send(chunks(0, 1), Outbox::kStuck + kSoon);
    source.send(chunks(0, 1), Outbox::kStuck + kSoon);
    CHECK(source.driver.flows == std::vector<Flow>(2, Flow{0}));
    source.send(chunks(0, 1), Outbox::kStuck * 2);
    source.send(chunks(0, 1), Outbox::kStuck * 2);
    CHECK(source.driver.flows.back() != source.driver.flows[2]);
}

TEST_CASE("a single outlet that is stuck does not keep what it is offered") {
    TwoRails source;
    source.driver.full = {0, 1};
    source.send(control(1));
    for (std::uint64_t number = 2; number < 100; ++number) {
        source.send(control(number), Outbox::kStuck * static_cast<int>(number));
        CHECK(source.outbox.is_empty());
    }
    source.driver.full = {};
    source.send(control(100), Outbox::kStuck * 100);
    CHECK(source.driver.packets.size() == 1);
}

TEST_CASE("DATA can be dropped, and control packets stay") {
    TwoRails source;
    source.driver.full = {0, 1};
    source.send(chunks(0, 3));
    source.send(control(9));
    core::SendBatch to_one = chunks(0, 1);
    to_one.sends.front().to = {.to_group = false, .peer = kOutboxReceiver};
    source.send(std::move(to_one));
    source.outbox.drop_data(BlockIndex{4});
    CHECK(source.outbox.needs(kOutboxBlock));
    source.outbox.drop_data();
    CHECK_FALSE(source.outbox.needs(kOutboxBlock));
    source.driver.full = {};
    REQUIRE(source.outbox.flush({}));
    REQUIRE(source.driver.packets.size() == 1);
    CHECK(source.type_of(0) == wire::PacketType::report);
}

TEST_CASE("a long run is cut into trains that fit one system call") {
    Recorder driver;
    seal::SessionSeal sealer{outbox_keys(kOutboxSource, Protection::auth)};
    BlockStore blocks{1};
    static_cast<void>(blocks.acquire(kOutboxBlock));
    blocks.set_extent(kOutboxBlock, 200 * kChunk);
    Outbox outbox{driver, sealer, blocks, config()};
    outbox.add(chunks(0, 200), config().chunk_bytes);
    REQUIRE(outbox.flush({}));
    CHECK(driver.packets.size() == 200);
    CHECK(driver.trains == 4);  // 63 packets of 1028 bytes stay below 65,000
}

}  // namespace
}  // namespace stage
