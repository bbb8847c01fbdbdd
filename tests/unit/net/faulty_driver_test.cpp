#include "tests/net/faulty_driver.h"

#include <catch2/catch.hpp>

#include <set>

namespace stage::test {
namespace {

constexpr std::uint32_t kMillion = 1'000'000;
constexpr std::size_t kPackets = 20'000;

/// Keeps the first two bytes of each packet, or all of them; refuses while `refuses`.
class Recorder final : public Driver {
  public:
    Status receive(std::vector<ReceivedPacket>&, Readable) override { return {}; }
    Result<Sent> send(const Train& train) override {
        if (refuses) {
            return Sent::would_block;
        }
        REQUIRE(train.pieces.size() == 1);
        packets.emplace_back(train.pieces[0].begin(), train.pieces[0].end());
        return Sent::all;
    }
    [[nodiscard]] std::vector<int> descriptors() const override { return {}; }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "recorder"; }

    bool refuses = false;
    std::vector<std::vector<std::byte>> packets;

  private:
    DriverCounters counters_;
};

struct Case {
    explicit Case(const Faults& faults) {
        auto made = std::make_unique<Recorder>();
        inner = made.get();
        driver = std::make_unique<FaultyDriver>(std::move(made), faults);
    }

    /// Packet `number` of four bytes, in trains of ten.
    void send_all(std::size_t packets = kPackets) {
        for (std::size_t first = 0; first < packets; first += 10) {
            std::vector<std::byte> bytes;
            for (std::size_t i = first; i < first + 10; ++i) {
                for (const std::size_t shift : {0U, 8U, 16U, 24U}) {
                    bytes.push_back(static_cast<std::byte>((i >> shift) & 0xffU));
                }
            }
            const Bytes piece = bytes;
            REQUIRE(driver->send(
                {.target = {}, .pieces = {&piece, 1}, .bytes = 40, .packet_bytes = 4}));
        }
    }

    [[nodiscard]] std::vector<std::size_t> numbers() const {
        std::vector<std::size_t> all;
        for (const auto& packet : inner->packets) {
            std::size_t number = 0;
            for (std::size_t i = 0; i < 4; ++i) {
                number |= std::to_integer<std::size_t>(packet[i]) << (8 * i);
            }
            all.push_back(number);
        }
        return all;
    }

    Recorder* inner = nullptr;
    std::unique_ptr<FaultyDriver> driver;
};

TEST_CASE("without faults every packet passes, in order") {
    Case test{Faults{}};
    test.send_all();
    const auto numbers = test.numbers();
    REQUIRE(numbers.size() == kPackets);
    CHECK(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST_CASE("losses come in bursts of the length asked for, about as often as asked for") {
    Faults faults;
    faults.drop_ppm = 1'000;
    faults.burst_packets = 50;
    Case test{faults};
    test.send_all();
    const auto& done = test.driver->faults_done();
    CHECK(done.offered == kPackets);
    CHECK(test.inner->packets.size() == kPackets - done.dropped);
    CHECK(done.dropped >
          kPackets / 50);  // 1/1000 x 50 = 5 %, and less by the bursts themselves
    CHECK(done.dropped < kPackets / 10);
    std::size_t expected = 0;
    for (const std::size_t number : test.numbers()) {
        CHECK((number - expected) % 50 == 0);
        expected = number + 1;
    }
}

TEST_CASE("a doubled packet passes twice, a corrupted one with one bit turned") {
    Faults faults;
    faults.duplicate_ppm = kMillion / 10;
    Case doubling{faults};
    doubling.send_all();
    const auto numbers = doubling.numbers();
    CHECK(std::set<std::size_t>(numbers.begin(), numbers.end()).size() == kPackets);
    CHECK(numbers.size() == kPackets + doubling.driver->faults_done().duplicated);
    CHECK(doubling.driver->faults_done().duplicated > kPackets / 20);

    faults = {};
    faults.corrupt_ppm = kMillion / 100;
    Case bending{faults};
    bending.send_all();
    std::size_t expected = 0;
    std::size_t bent = 0;
    for (const std::size_t number : bending.numbers()) {
        const std::size_t difference = number ^ expected++;
        CHECK((difference & (difference - 1)) == 0);
        bent += difference == 0 ? 0 : 1;
    }
    CHECK(bent == bending.driver->faults_done().corrupted);
    CHECK(bent > kPackets / 200);
}

TEST_CASE("a reordered packet is overtaken by as many as asked for, and none is lost") {
    Faults faults;
    faults.reorder_ppm = kMillion / 50;
    faults.hold_packets = 5;
    Case test{faults};
    test.send_all();
    std::vector<ReceivedPacket> none;
    for (std::uint32_t i = 0; i < faults.hold_packets; ++i) {
        REQUIRE(test.driver->receive(none, {}));  // what is held at the end leaves here
    }
    auto numbers = test.numbers();
    REQUIRE(numbers.size() == kPackets);
    std::size_t late = 0;
    std::size_t highest = 0;
    for (const std::size_t number : numbers) {
        late += number < highest ? 1 : 0;
        CHECK(number + 2 * faults.hold_packets >= highest);
        highest = std::max(highest, number);
    }
    CHECK(late > kPackets / 100);
    CHECK(late <= test.driver->faults_done().reordered);
    std::sort(numbers.begin(), numbers.end());
    CHECK(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
}

TEST_CASE("what the driver within refuses leaves later, and a train meanwhile is refused") {
    Case test{Faults{}};
    test.inner->refuses = true;
    test.send_all(10);
    CHECK(test.inner->packets.empty());
    const std::vector<std::byte> bytes(4);
    const Bytes piece = bytes;
    const Train train{.target = {}, .pieces = {&piece, 1}, .bytes = 4, .packet_bytes = 4};
    const auto refused = test.driver->send(train);
    REQUIRE(refused);
    CHECK(*refused == Sent::would_block);
    test.inner->refuses = false;
    REQUIRE(test.driver->send(train));
    CHECK(test.inner->packets.size() == 11);
}

TEST_CASE("faults are read by name; one that is not known is named") {
    const auto faults = read_faults("seed=7,drop=10000,burst=50,hold=3");
    REQUIRE(faults);
    CHECK(faults->seed == 7);
    CHECK(faults->drop_ppm == 10'000);
    CHECK(faults->burst_packets == 50);
    CHECK(faults->hold_packets == 3);
    CHECK(read_faults(""));
    for (const char* wrong : {"dorp=1", "drop", "drop=", "drop=1x"}) {
        CAPTURE(wrong);
        const auto read = read_faults(wrong);
        REQUIRE_FALSE(read);
        CHECK_THAT(read.error().sentence(), Catch::Contains(wrong));
    }
}

}  // namespace
}  // namespace stage::test
