#include "transport/base/unique_fd.h"
#include "transport/run/broadcast.h"

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
    FullDriver() { REQUIRE(::eventfd_write(full_.get(), ~eventfd_t{1}) == 0); }

    Status receive(std::vector<ReceivedPacket>&, Readable) override { return {}; }
    Result<Sent> send(const Train&) override {
        if (steady_clock::now() - began_ < kFull) {
            ++refused;
            return Sent::would_block;
        }
        return Sent::all;
    }
    Status hear_group(bool) override { return {}; }
    [[nodiscard]] std::vector<int> descriptors() const override { return {quiet_.get()}; }
    [[nodiscard]] int refusing_descriptor() const override { return full_.get(); }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "full"; }

    unsigned refused = 0;

  private:
    UniqueFd quiet_{::eventfd(0, EFD_NONBLOCK)};
    UniqueFd full_{::eventfd(0, EFD_NONBLOCK)};
    steady_clock::time_point began_ = steady_clock::now();
    DriverCounters counters_;
};

class Zeros final : public BlockSource {
  public:
    [[nodiscard]] std::uint32_t block_count() const override { return 4; }
    [[nodiscard]] std::uint32_t block_length(BlockIndex) const override { return kBlockBytes; }
    Result<SourceBlock> read(BlockIndex, MutableBytes) override {
        return SourceBlock{.length = kBlockBytes};
    }
    Status finish() override { return {}; }
};

class Nobody final : public Watcher {
  public:
    void on_progress(const core::Outcome&) override {}
};

TEST_CASE("who waits for a full socket does not ask it all the time") {
    BroadcastConfig config;
    config.members.resize(2);
    config.own = Rank{0};
    config.source = Rank{0};
    config.group = *Address::parse("239.1.1.1", 5000);
    config.protection = seal::Protection::none;
    config.rate_bits_per_s = 1'000'000'000;
    config.is_rate_told = true;
    config.readiness_policy = core::ReadinessPolicy::none;  // else it has only offers to send
    config.ready_timeout = milliseconds{400};
    FullDriver driver;
    Zeros source;
    Nobody watcher;
    const BroadcastReport report = send_broadcast(config, driver, source, watcher);
    CHECK(report.outcome.phase == core::Phase::failed);
    CHECK(driver.refused > 0);
    CHECK(driver.refused < 1000);
}

}  // namespace
}  // namespace stage
