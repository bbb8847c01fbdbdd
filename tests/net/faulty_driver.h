// A driver that makes a real network behave as badly as the simulator's.
//
// A decorator around any driver that loses, duplicates, damages, delays and reorders the
// packets which this member sends, by a seed. At the source that is a loss which all receivers
// share; at a receiver, of its requests and repairs. Test programs only.
#pragma once

#include "transport/base/prng.h"
#include "transport/fabric/driver.h"

#include <deque>
#include <memory>
#include <string_view>

namespace stage::test {

/// Probabilities in millionths, of each packet sent.
struct Faults {
    std::uint64_t seed = 1;
    std::uint32_t drop_ppm = 0;       ///< A burst of losses begins.
    std::uint32_t burst_packets = 1;  ///< The number lost in a row.
    std::uint32_t duplicate_ppm = 0;
    std::uint32_t corrupt_ppm = 0;  ///< One bit is turned.
    std::uint32_t reorder_ppm = 0;  ///< The packet is overtaken
    /// by this number of others, or waits for this number of receive().
    std::uint32_t hold_packets = 8;
};

/// "seed=7,drop=10000,burst=50,duplicate=..,corrupt=..,reorder=..,hold=..".
[[nodiscard]] Result<Faults> read_faults(std::string_view text);

struct FaultCounters {
    std::uint64_t offered = 0;
    std::uint64_t dropped = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t reordered = 0;
};

class FaultyDriver final : public Driver {
  public:
    FaultyDriver(std::unique_ptr<Driver> inner, const Faults& faults)
        : inner_{std::move(inner)}, faults_{faults}, prng_{faults.seed} {}

    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override;
    /// Refuses a train while an earlier one has not left; what was taken leaves some day.
    Result<Sent> send(const Train& train) override;
    [[nodiscard]] bool carries(Flow flow) override { return inner_->carries(flow); }
    /// One, because all packets wait for each other.
    [[nodiscard]] int outlet_descriptor(std::size_t) const override {
        return inner_->outlet_descriptor(
            ready_.empty() ? 0 : inner_->outlet_of(ready_.front().target));
    }
    [[nodiscard]] bool prepare_wait(Readable awaited) override {
        return inner_->prepare_wait(awaited);
    }
    [[nodiscard]] short outlet_events() const override { return inner_->outlet_events(); }
    [[nodiscard]] std::vector<int> descriptors() const override {
        return inner_->descriptors();
    }
    [[nodiscard]] std::vector<std::unique_ptr<FlowInbox>> take_flows() override {
        return inner_->take_flows();
    }
    [[nodiscard]] int stream_descriptor() const override { return inner_->stream_descriptor(); }
    [[nodiscard]] const DriverCounters& counters() const override { return inner_->counters(); }
    [[nodiscard]] std::string name() const override { return inner_->name() + "+faults"; }
    [[nodiscard]] const FaultCounters& faults_done() const { return done_; }

  private:
    struct Packet {
        TrainTarget target;
        std::vector<std::byte> bytes;
        std::uint32_t hold = 0;  ///< Others, or calls of receive(), that go first.
    };

    void decide(Packet packet);
    void release_held();
    [[nodiscard]] Result<Sent> flush();

    std::unique_ptr<Driver> inner_;
    Faults faults_;
    Prng prng_;
    FaultCounters done_;
    std::uint32_t losing_ = 0;  ///< Packets that the burst under way takes yet.
    std::deque<Packet> ready_;
    std::deque<Packet> held_;
};

}  // namespace stage::test
