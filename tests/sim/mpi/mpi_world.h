// Simulates the ranks of an MPI program, one on each node.
//
// Each runs real code on a stack of its own, one of them at a time. It pays for what it does
// (MpiCosts), and waits in simulated time, so that a run is the same every time. Messages
// between two ranks arrive whole and in their order, as by TCP, which a lost segment delays; a
// lost multicast packet is lost.
#pragma once

#include "tests/sim/network/events.h"
#include "tests/sim/network/parking.h"
#include "transport/base/prng.h"

#include <ucontext.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stage::sim {

struct MpiCosts {
    Duration send{};                ///< The processor's work for a message to a rank,
    Duration receive{};             ///< and for one from a rank;
    Duration multicast{};           ///< for the packets of one multicast message,
    Duration packet_out{};          ///< for each of them,
    Duration packet_in{};           ///< and for one that arrives.
    std::uint64_t bytes_per_s = 0;  ///< The rate of each link and direction.
    Duration propagation{};         ///< Each link's. A message takes two.
    std::uint32_t loss_ppm =
        0;               ///< The share of packets and segments lost on the way to each rank.
    Duration timeout{};  ///< Until a lost segment that was alone is sent again,
    Duration probe{};    ///< and until one that was the last of several is.
};

class MpiWorld {
  public:
    /// One call of all ranks that they began together.
    struct Call {
        std::vector<Duration> ended;  ///< By rank: since the call began.
        std::vector<int> hops;        ///< By rank: messages on the way from the source to it.
        std::uint64_t messages = 0;   ///< From rank to rank.
        std::uint64_t packets = 0;    ///< Multicast.

        [[nodiscard]] Duration last() const;
        [[nodiscard]] int most_hops() const;
    };

    MpiWorld(int ranks, const MpiCosts& costs, std::uint64_t seed);

    /// Each rank runs `program`. False: some wait for what is never sent.
    [[nodiscard]] bool run(const std::function<void()>& program);
    [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
    [[nodiscard]] int size() const { return static_cast<int>(processes_.size()); }

    // ---- for the code of a rank, about itself

    /// The world whose rank runs now.
    [[nodiscard]] static MpiWorld& here();
    [[nodiscard]] int rank() const;
    void spend(Duration work);
    void pause(Duration time);
    /// Waits until something has come or ended since the last time.
    void poll();
    /// Waits for all ranks, and for what is under way.
    void begin_together(int source);
    void end_call();

    void send(int to, Bytes message);
    /// Each returns the number of a request.
    [[nodiscard]] int receive(int from, MutableBytes room);
    [[nodiscard]] int barrier();
    [[nodiscard]] int sent();
    /// If that has ended its bytes; it is no longer. `is_taken`: it is this call's message.
    [[nodiscard]] std::optional<std::size_t> finished(int request, bool is_taken);

    void multicast(const std::vector<std::vector<std::byte>>& packets);
    [[nodiscard]] std::optional<std::vector<std::byte>> take_packet();
    void has_from_multicast();

  private:
    struct Stuck {};
    using Packet = std::shared_ptr<const std::vector<std::byte>>;
    struct Request {
        MutableBytes room{};
        std::size_t bytes = 0;
        int hops = 0;
        bool is_message = false;
        bool is_done = false;
    };
    struct Wire {
        Instant free_at{};
        Instant pass(Instant at, Duration time) {
            free_at = std::max(at, free_at) + time;
            return free_at;
        }
    };
    struct Message {
        std::vector<std::byte> bytes;
        int hops = 0;
        std::size_t segments = 0;  ///< That have not arrived.
    };
    /// From one rank to another.
    struct Channel {
        std::deque<Message> sent{};
        std::deque<Message> kept{};  ///< They have arrived before they were asked for.
        std::deque<int> posted{};    ///< Requests.
    };
    struct Process {
        ucontext_t context{};
        std::unique_ptr<std::byte[]> stack{};
        Instant busy_until{};
        bool is_polling = false;
        bool has_news = false;
        bool is_over = false;
        int hops = 0;  ///< The current message's; -1: it is not here.
        int next_request = 0;
        std::map<int, Request> requests{};
        std::deque<Packet> packets{};
        Wire up{};
        Wire down{};
    };
    /// A packet or a segment on its way.
    struct Flight {
        int from = 0;
        int to = 0;
        std::size_t wire_bytes = 0;
        Duration delay{};  ///< By loss, of a segment.
        Packet packet{};   ///< A multicast packet.
        Message* message = nullptr;
    };

    void prepare(Process& process);
    static void begin();
    [[nodiscard]] Process& own();
    void resume(std::uint64_t rank);
    void hand_over();
    void tell(int rank);
    [[nodiscard]] int new_request(const Request& request);
    void launch(Flight flight);
    void reach_switch(std::uint64_t index);
    void forward(Flight flight);
    void arrive(std::uint64_t index);
    void deliver(int from, int to);
    void end(int rank, int request, const Message& message);
    [[nodiscard]] Duration delay_of(std::size_t segment, std::size_t segments);

    MpiCosts costs_;
    Prng prng_;
    Events events_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::map<std::pair<int, int>, Channel> channels_;
    Parking<Flight> flights_;
    ucontext_t context_{};  ///< The events' context.
    const std::function<void()>* program_ = nullptr;
    bool is_stuck_ = false;
    std::vector<Call> calls_;
    Instant begun_{};
    int together_ = 0;                               ///< Ranks that wait to begin.
    std::vector<std::pair<int, int>> in_barrier_{};  ///< Their ranks and requests.
};

}  // namespace stage::sim
