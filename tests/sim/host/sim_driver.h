// A simulated member's driver: its sockets, and its links to the network.
//
// With several flows it has the peers' socket only: sim_flow.h has the others. A source with
// rails has an outlet for each.
#pragma once

#include "tests/sim/host/clock.h"
#include "tests/sim/host/inbox.h"
#include "tests/sim/host/object.h"
#include "tests/sim/network/network.h"
#include "transport/fabric/driver.h"

#include <optional>

namespace stage::sim {

class SimDriver final : public Driver {
  public:
    /// All must outlive this.
    SimDriver(const Plan& plan,
              std::uint16_t rank,
              const Object& object,
              const Clock& clock,
              Network& network,
              const Events& events,
              Prng& prng);

    Status receive(std::vector<ReceivedPacket>& packets, Readable readable) override;
    Result<Sent> send(const stage::Train& train) override;
    [[nodiscard]] bool carries(Flow flow) override;
    [[nodiscard]] std::size_t outlets() const override;
    [[nodiscard]] std::size_t outlet_of(const TrainTarget& target) const override;
    [[nodiscard]] std::vector<int> descriptors() const override { return {}; }
    [[nodiscard]] const DriverCounters& counters() const override { return counters_; }
    [[nodiscard]] std::string name() const override { return "sim"; }

    /// What has arrived, or will have at a time that is already known.
    [[nodiscard]] Inbox& inbox() { return inbox_; }
    [[nodiscard]] const Inbox& inbox() const { return inbox_; }
    /// When one of these outlets takes again what it refused.
    [[nodiscard]] Instant room_at(std::uint32_t outlets) const;
    /// Copies packets that were taken from a socket into `buffer`, and appends them.
    void unload(std::span<const Inbox::Arrival> arrivals,
                std::vector<std::byte>& buffer,
                std::vector<ReceivedPacket>& packets);
    /// Packets that the last receive() took from the sockets.
    [[nodiscard]] std::uint32_t taken() const { return taken_; }
    /// What converts its stamps, which are positive, to the host's clock.
    [[nodiscard]] static Duration stamp_shift() { return -kEpoch; }

    [[nodiscard]] std::uint64_t data_sent() const { return data_sent_; }
    [[nodiscard]] std::optional<Instant> first_data_at() const { return first_data_at_; }
    [[nodiscard]] std::optional<Instant> last_data_at() const { return last_data_at_; }
    /// How often a rail without a link was passed over, and how often one was paused.
    [[nodiscard]] std::uint64_t passed_over() const { return passed_over_; }
    [[nodiscard]] std::uint64_t found_blocked() const { return found_blocked_; }

  private:
    static constexpr Duration kEpoch = std::chrono::hours{100'000};

    [[nodiscard]] Instant blocked_until(std::size_t rail) const;
    [[nodiscard]] Duration spacing_of(const Train& train) const;
    [[nodiscard]] Instant stamp(const Inbox::Arrival& arrival,
                                std::uint32_t index,
                                Duration each);
    void corrupt(MutableBytes packet);
    [[nodiscard]] std::uint32_t body_bytes_on_links(const Train& train,
                                                    std::uint32_t index) const;

    const Plan& plan_;
    std::uint16_t rank_;
    const Object& object_;
    const Clock& clock_;
    Network& network_;
    const Events& events_;
    Prng& prng_;
    std::size_t tag_bytes_;
    Inbox inbox_;
    std::vector<Inbox::Arrival> arrivals_;  ///< The last receive()'s.
    std::vector<std::byte> buffer_;         ///< Their packets, one after the other.
    DriverCounters counters_;
    std::uint32_t taken_ = 0;
    std::uint64_t passed_over_ = 0;
    std::uint64_t found_blocked_ = 0;
    std::uint64_t data_sent_ = 0;
    std::optional<Instant> first_data_at_;
    std::optional<Instant> last_data_at_;
};

}  // namespace stage::sim
