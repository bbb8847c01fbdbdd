#include "transport/os/unique_fd.h"
#include "transport/run/broadcast.h"
#include "transport/run/loop.h"
#include "transport/run/object/disk_queue.h"

#include <catch2/catch.hpp>

#include <sys/eventfd.h>

#include <chrono>

namespace stage {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr Duration kFull = milliseconds{200};

/// Takes nothing for a while.
class FullDriver final : public Driver {
  public:
    explicit FullDriver(Duration full = kFull) : full_for_{full} {
        REQUIRE(::eventfd_write(full_.get(), ~eventfd_t{1}) == 0);
    }

    Status receive(std::vector<ReceivedPacket>&, Readable) override { return {}; }
    Result<Sent> send(const Train&) override {
        if (steady_clock::now() - began_ < full_for_) {
            ++refused;
            return Sent::would_block;
        }
        return Sent::all;
    }
    [[nodiscard]] std::vector<int> descriptors() const override { return {quiet_.get()}; }
    [[nodiscard]] int outlet_descriptor(std::size_t) const override { return full_.get(); }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "full"; }

    unsigned refused = 0;

  private:
    Duration full_for_;
    UniqueFd quiet_{::eventfd(0, EFD_NONBLOCK)};
    UniqueFd full_{::eventfd(0, EFD_NONBLOCK)};
    steady_clock::time_point began_ = steady_clock::now();
    DriverCounters counters_;
};

class Zeros final : public BlockSource {
  public:
    [[nodiscard]] std::uint32_t block_count() const override { return 4; }
    [[nodiscard]] std::uint64_t object_bytes() const override { return 4 * kBlockBytes; }
    Result<SourceBlock> read(BlockIndex, MutableBytes) override {
        return SourceBlock{.length = kBlockBytes};
    }
    Status finish() override { return {}; }
};

class SilentWatcher final : public Watcher {
  public:
    void on_progress(const core::Outcome&) override {}
};

/// Both of its descriptors always have something.
class BusyDriver final : public Driver {
  public:
    Status receive(std::vector<ReceivedPacket>&, Readable readable) override {
        reads.push_back(readable);
        return {};
    }
    Result<Sent> send(const Train&) override { return Sent::all; }
    [[nodiscard]] std::vector<int> descriptors() const override {
        return {peers_.get(), stream_.get()};
    }
    [[nodiscard]] int stream_descriptor() const override { return stream_.get(); }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "busy"; }

    std::vector<Readable> reads;

  private:
    UniqueFd peers_{::eventfd(1, EFD_NONBLOCK)};
    UniqueFd stream_{::eventfd(1, EFD_NONBLOCK)};
    DriverCounters counters_;
};

constexpr std::size_t kRoomAt = 5;  ///< Reads of the driver.
constexpr std::size_t kEndAt = 10;

/// Does nothing.
class IdleCore : public core::Core {
  public:
    void on_datagrams(Instant, std::span<const core::Datagram>) override {}
    void on_done(Instant, std::span<const core::Completion>) override {}
    void on_time(Instant) override {}
    void on_abort(Instant, const Error&) override {}
    void on_all_listen(Instant) override {}
    void next_sends(Instant, core::SendBatch&) override {}
    void next_operations(Instant, core::OperationBatch&) override {}
    [[nodiscard]] std::optional<Instant> deadline() const override { return std::nullopt; }
    [[nodiscard]] const core::Outcome& outcome() const override { return outcome_; }

  protected:
    core::Outcome outcome_;
};

/// Has no room for the stream until the driver was read a few times; a few more, and it ends.
class CrowdedCore final : public IdleCore {
  public:
    explicit CrowdedCore(const BusyDriver& driver) : driver_{driver} {
        outcome_.phase = core::Phase::moving;
    }

    void on_time(Instant) override { outcome_.phase = core::Phase::released; }
    void next_operations(Instant, core::OperationBatch&) override {
        outcome_.stream_may_wait_until =
            driver_.reads.size() < kRoomAt ? Instant::max() : Instant::min();
    }
    [[nodiscard]] std::optional<Instant> deadline() const override {
        const bool is_due =
            outcome_.phase == core::Phase::moving && driver_.reads.size() >= kEndAt;
        return is_due ? std::optional{Instant{}} : std::nullopt;
    }

  private:
    const BusyDriver& driver_;
};

class NoObject final : public ObjectIo {
  public:
    Performed perform(const core::Operation&, MutableBytes) override { return {}; }
};

TEST_CASE("a stream without room stays in its socket, what peers send does not") {
    seal::SessionKeys keys;
    keys.protection = Protection::none;
    keys.members.resize(2);
    seal::SessionSeal seal{keys};
    BusyDriver driver;
    CrowdedCore core{driver};
    BlockStore blocks{2};
    NoObject object;
    DiskQueue disk{object, 1};
    Outbox outbox{driver, seal, blocks, core::CoreConfig{}, 1};
    SilentWatcher watcher;
    SessionLoop loop{{.core = core,
                      .driver = driver,
                      .seal = seal,
                      .blocks = blocks,
                      .disk = disk,
                      .outbox = outbox,
                      .watcher = watcher}};
    loop.run();
    REQUIRE(driver.reads.size() >= kEndAt);
    for (std::size_t read = 1; read < driver.reads.size(); ++read) {  // (The first looks.)
        CAPTURE(read);
        CHECK(driver.reads[read].peers);
        CHECK(driver.reads[read].stream == (read >= kRoomAt));
    }
}

/// Has many chunks to send to the group, and fails once it is aborted.
class StubbornCore final : public IdleCore {
  public:
    StubbornCore() {
        outcome_.phase = core::Phase::moving;
        outcome_.chunk_bytes = 1000;
    }

    void on_abort(Instant, const Error&) override { outcome_.phase = core::Phase::failed; }
    void next_sends(Instant, core::SendBatch& sends) override {
        if (outcome_.phase == core::Phase::moving) {
            core::Send& send = sends.sends.emplace_back();
            send.to.to_group = true;
            send.packet_number = number_ += 2;
        }
    }
    [[nodiscard]] std::uint64_t numbers_sent() const { return number_; }

  private:
    std::uint64_t number_ = 0;
};

/// Takes nothing.
class UselessDriver final : public Driver {
  public:
    Status receive(std::vector<ReceivedPacket>&, Readable) override { return {}; }
    Result<Sent> send(const Train&) override { return Sent::would_block; }
    [[nodiscard]] std::vector<int> descriptors() const override { return {}; }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "useless"; }

  private:
    DriverCounters counters_;
};

class CancelledWatcher final : public Watcher {
  public:
    void on_progress(const core::Outcome&) override {}
    Status on_readable() override { return Error{Blame::user, "cancelled"}; }
};

/// A session of such parts, without threads and time.
struct Stubborn {
    Stubborn() {
        static_cast<void>(blocks.acquire({}));
        blocks.set_extent({}, 1000);
    }
    static seal::SessionKeys keys() {
        seal::SessionKeys keys;
        keys.protection = Protection::none;
        keys.members.resize(2);
        return keys;
    }

    StubbornCore core;
    UselessDriver driver;
    seal::SessionSeal seal{keys()};
    BlockStore blocks{2};
    NoObject object;
    DiskQueue disk{object, 1};
    Outbox outbox{driver, seal, blocks, core::CoreConfig{}, 1};
    CancelledWatcher watcher;
    Session session{{.core = core,
                     .driver = driver,
                     .seal = seal,
                     .blocks = blocks,
                     .disk = disk,
                     .outbox = outbox,
                     .watcher = watcher}};
};

TEST_CASE("what a full driver still holds of DATA keeps no session from its end") {
    Stubborn member;
    const Waits waits = member.session.turn(Instant{}, {});
    CHECK(waits.outlets == 1U);
    CHECK_FALSE(member.session.is_over());
    member.session.hear_watcher(Instant{});
    static_cast<void>(member.session.turn(Instant{}, {}));
    CHECK(member.session.is_over());
}

TEST_CASE("a core goes on sending while its outlet is stuck, and its chunks are lost") {
    Stubborn member;
    Instant now{};
    for (int i = 0; i < 100; ++i) {
        static_cast<void>(member.session.turn(now, {}));
        now += Outbox::kStuck;
    }
    CHECK(member.outbox.full_outlets() == 0U);
    CHECK(member.core.numbers_sent() > 100);
}

/// Brings an END of member 1 in each turn. Its sockets dropped packets in earlier sessions.
class UsedDriver final : public Driver {
  public:
    Status receive(std::vector<ReceivedPacket>& packets, Readable) override {
        const std::vector<std::byte> body = wire::write(wire::End{1});
        packet_.resize(wire::kHeaderBytes + body.size() + sender_.tag_bytes());
        const MutableBytes all{packet_};
        wire::write_header({.version = sender_.version(),
                            .type = wire::PacketType::end,
                            .flow = {},
                            .session = sender_.demux(),
                            .rank = Rank{1},
                            .packet_number = ++number_,
                            .block = {},
                            .chunk = {}},
                           all.first(wire::kHeaderBytes));
        const MutableBytes room = all.subspan(wire::kHeaderBytes, body.size());
        std::ranges::copy(body, room.begin());
        sender_.seal(
            number_, all.first(wire::kHeaderBytes), room, room, all.last(sender_.tag_bytes()));
        packets.push_back({.bytes = all, .to_group = is_to_group});
        return {};
    }
    Result<Sent> send(const Train&) override { return Sent::all; }
    [[nodiscard]] std::vector<int> descriptors() const override { return {}; }
    [[nodiscard]] const DriverCounters& counters() const override { return counted; }
    [[nodiscard]] std::string name() const override { return "used"; }

    DriverCounters counted{.socket_overflow = 100};
    bool is_to_group = true;

  private:
    static seal::SessionKeys keys() {
        seal::SessionKeys keys = Stubborn::keys();
        keys.own = Rank{1};
        return keys;
    }

    seal::SessionSeal sender_{keys()};
    std::uint64_t number_ = 0;
    std::vector<std::byte> packet_;
};

/// Remembers the number of dropped packets.
class HearingCore final : public IdleCore {
  public:
    void on_datagrams(Instant, std::span<const core::Datagram> datagrams) override {
        overflow = datagrams.back().overflow;
    }

    std::optional<std::uint32_t> overflow;
};

/// One of several sessions that a driver serves.
struct LaterSession {
    explicit LaterSession(UsedDriver& used) : driver{used} {}
    std::optional<std::uint32_t> turn() {
        static_cast<void>(session.turn(Instant{}, {}));
        return core.overflow;
    }

    UsedDriver& driver;
    HearingCore core;
    seal::SessionSeal seal{Stubborn::keys()};
    BlockStore blocks{2};
    NoObject object;
    DiskQueue disk{object, 1};
    Outbox outbox{driver, seal, blocks, core::CoreConfig{}, 1};
    CancelledWatcher watcher;
    Session session{{.core = core,
                     .driver = driver,
                     .seal = seal,
                     .blocks = blocks,
                     .disk = disk,
                     .outbox = outbox,
                     .watcher = watcher}};
};

TEST_CASE("what sockets dropped in earlier sessions of a driver is none of this one's") {
    UsedDriver driver;
    LaterSession member{driver};
    driver.is_to_group = false;
    CHECK(member.turn() == 0U);
    driver.counted.socket_overflow += 20;  // In the group's socket, which was not read yet.
    driver.is_to_group = true;
    CHECK(member.turn() == 0U);
    driver.counted.socket_overflow += 3;
    CHECK(member.turn() == 3U);
    driver.is_to_group = false;
    CHECK(member.turn() == 3U);
    CHECK(LaterSession{driver}.turn() == 0U);
}

BroadcastConfig config_of_source() {
    BroadcastConfig config;
    config.members.resize(2);
    config.own = Rank{0};
    config.source = Rank{0};
    config.carrier = {.has_multicast = true,
                      .packet_bytes = 1472,
                      .chunk_bytes_max = wire::kMaxDatagramChunkBytes};
    config.protection = Protection::none;
    config.rate_bytes_per_s = config.rate_max_bytes_per_s = 125'000'000;
    config.policies.readiness = ReadinessPolicy::none;  // else it has only offers to send
    config.ready_timeout = milliseconds{400};
    return config;
}

// A link under endless PAUSE frames, or a stuck queueing discipline.
TEST_CASE("a session whose driver refuses everything for ever ends") {
    FullDriver driver{std::chrono::hours{1}};
    Zeros source;
    SilentWatcher watcher;
    const BroadcastReport report = send_broadcast(config_of_source(), driver, source, watcher);
    CHECK(report.outcome.phase == core::Phase::failed);
    CHECK(report.outcome.why);
}

TEST_CASE("a session that waits for a full socket does not poll it all the time") {
    const BroadcastConfig config = config_of_source();
    FullDriver driver;
    Zeros source;
    SilentWatcher watcher;
    const BroadcastReport report = send_broadcast(config, driver, source, watcher);
    CHECK(report.outcome.phase == core::Phase::failed);
    CHECK(driver.refused > 0);
    CHECK(driver.refused < 1000);
}

}  // namespace
}  // namespace stage
