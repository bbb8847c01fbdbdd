// Simulates the members of a relay, joined by connections that lose and reorder nothing.
//
// Each host has one link of a given rate in each direction; its connections share it. A host
// can crash (its connections close), stop (they stay, and nothing moves), lose its links for a
// while, or have a slow or failing disk. Contents are checked: a chunk is the number of its
// place, and a block with a wrong one has a wrong digest.
#pragma once

#include "tests/sim/plan/plan.h"
#include "transport/base/prng.h"
#include "transport/core/relay/relay_receiver.h"
#include "transport/core/relay/relay_source.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stage::sim {

struct RelayPlan {
    std::uint32_t members = 4;
    Relay relay{};
    std::uint64_t object_bytes = 16U << 20U;
    std::uint64_t bytes_per_s = 12'500'000;
    std::map<std::uint32_t, std::uint64_t> slow_links{};  ///< By rank: another rate.
    std::map<std::uint32_t, std::uint64_t> slow_uplinks{};
    Duration delay = std::chrono::microseconds{50};
    Duration wake_up = std::chrono::microseconds{20};  ///< From arrival to the process.
    std::uint64_t disk_bytes_per_s = 1'000'000'000;
    std::map<std::uint32_t, std::uint64_t> slow_disks{};
    std::map<std::uint32_t, Duration> slow_finishes{};  ///< From the last block to DONE.
    LegPlan leg{};                                      ///< The source's.
    /// By rank: it is a gateway, which may finish from then on.
    std::map<std::uint32_t, Duration> chained{};
    std::uint32_t chunk_bytes = 8928;
    Duration stall_timeout = std::chrono::seconds{30};
    /// By rank: its part begins then. Before that its host takes connections.
    std::map<std::uint32_t, Duration> starts{};
    std::map<std::uint32_t, Duration> crashes{};
    /// All connections of a rank end, without a fault of either end.
    std::vector<std::pair<std::uint32_t, Duration>> cuts{};
    /// By rank: no DATA arrives there, and each connection that it makes ends after this time.
    std::map<std::uint32_t, Duration> flapping{};
    enum class Firewall : std::uint8_t { rejects, drops };
    std::map<std::uint32_t, Firewall> firewalls{};  ///< By rank: it takes no connection.
    struct Pause {
        Duration from;
        Duration until;
    };
    std::map<std::uint32_t, Pause> stops{};
    /// By rank: how many times it must shorten its segments before what its peer sends arrives.
    std::map<std::uint32_t, std::uint32_t> narrow_paths{};
    /// The disk of this rank refuses this block.
    std::optional<std::pair<std::uint32_t, std::uint32_t>> refused_store{};
    /// A member's buffer of this block has a wrong chunk, once.
    std::optional<std::pair<std::uint32_t, std::uint32_t>> damaged{};
    std::map<std::uint32_t, std::vector<core::BlockRun>> held_before{};
    std::set<std::uint32_t> holders{};  ///< They hold the object already.
    bool drops_failed = false;          ///< BroadcastSettings
};

class RelayWorld {
  public:
    explicit RelayWorld(const RelayPlan& plan);
    ~RelayWorld();

    /// Until every host's core is over, or this time has passed.
    void run(Duration limit);

    [[nodiscard]] bool is_over(std::uint32_t rank) const;
    [[nodiscard]] const core::Outcome& outcome(std::uint32_t rank) const;
    [[nodiscard]] Duration now() const { return now_.time_since_epoch(); }
    /// The time from the start until the last receiver that did not crash held the object.
    [[nodiscard]] std::optional<Duration> last_held() const;
    /// The time that the object takes on one link, headers included.
    [[nodiscard]] Duration wire_time() const;
    [[nodiscard]] std::uint64_t bytes_sent(std::uint32_t rank) const;
    /// How often it connected to a member, the first time included.
    [[nodiscard]] std::uint32_t times_connected(std::uint32_t rank) const;
    /// True if the source ended its part while no path of connections led to that member, which
    /// could not hear of it then.
    [[nodiscard]] bool was_cut_off(std::uint32_t rank) const {
        return reached_.contains(0) && !reached_.contains(rank);
    }
    /// What was found wrong: contents, residency, leases.
    [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

  private:
    struct Host;
    struct Connection;
    /// The other end of a connection: a rank and a flow.
    using Peer = std::pair<std::uint32_t, std::uint8_t>;
    struct Event {
        Instant at;
        std::uint64_t order;
        std::function<void()> what;
        bool operator<(const Event& other) const {
            return std::tie(other.at, other.order) < std::tie(at, order);
        }
    };

    /// A packet on its way to a host, by the connection with this id.
    struct Flight {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        std::uint64_t id = 0;
        core::Send packet{};
    };

    void after(Duration delay, std::function<void()> what);
    [[nodiscard]] std::uint32_t take_off(Flight flight);
    void turn(Host& host);
    void note_reached(std::uint32_t rank);
    void send_all(Host& host);
    void operate(Host& host);
    [[nodiscard]] Instant possible_at(const Host& host, const core::Operation& operation) const;
    void perform(Host& host, const core::Operation& operation);
    void complete(Host& host);
    void connect(Host& from, Peer to);
    void queue(Host& from, const core::Send& send);
    void transmit(Host& host);
    void look_again(Host& host);
    void arrive(std::uint32_t flight);
    void deliver(Host& host, std::uint32_t from, const core::Send& packet);
    void close(std::uint32_t from, Peer to, std::optional<LinkEvent::Kind> reported);
    void narrow(Host& host, Peer peer, std::uint64_t connection, std::uint32_t narrowings);
    void stand(Host& host, Peer peer, std::uint64_t connection);
    void flap(Host& host, Peer peer, std::uint64_t connection);
    void cut(Host& host);
    void crash(Host& host);
    void leave(Host& host);
    void hang_up_all(Host& host);
    [[nodiscard]] std::uint32_t length(BlockIndex block) const;
    [[nodiscard]] wire::Descriptor descriptor(BlockIndex block) const;
    [[nodiscard]] std::uint64_t rate(std::uint32_t rank) const;

    RelayPlan plan_;
    std::uint32_t blocks_;
    Instant now_{std::chrono::seconds{1}};
    std::uint64_t order_ = 0;
    std::uint64_t connections_ = 0;
    std::priority_queue<Event> events_;
    std::vector<std::unique_ptr<Host>> hosts_;
    std::vector<Flight> flights_;
    std::vector<std::uint32_t> landed_;                       ///< Free places in `flights_`.
    std::vector<std::pair<std::uint32_t, core::Send>> read_;  ///< By the present turn.
    std::set<std::uint32_t> reached_;  ///< When the source ended its part.
    std::vector<std::string> faults_;
};

}  // namespace stage::sim
