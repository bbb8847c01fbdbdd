// In which order does the core hear what several flows brought?
//
// In the one in which the source numbered it. Each flow is received by a thread of its own
// (flow_reader.h), and one may be late: were its packets told after younger ones of other
// flows, they would look lost, be asked for and be sent twice. So a packet waits until every
// flow has shown its next one, or has nothing more: neither in its socket nor in its thread's
// hands. Flows that share their way need no more than that. On several rails each has queues of
// its own, and one brings later what was sent sooner: there a packet waits a bounded time for
// flows that brought something a moment ago.
#pragma once

#include "transport/run/flow_reader.h"
#include "transport/seal/session_seal.h"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace stage {

class Flows {
  public:
    /// Starts a thread a flow. `seal` gives each what it needs to open the source's packets.
    /// `skew`: so much later than another may a flow that is alive bring what was sent sooner.
    Flows(std::vector<std::unique_ptr<FlowInbox>> inboxes,
          const seal::SessionSeal& seal,
          Rank source,
          Duration skew = {});
    ~Flows();
    Flows(const Flows&) = delete;
    Flows& operator=(const Flows&) = delete;

    /// Readable while take() may have something.
    [[nodiscard]] int event_fd() const { return event_.get(); }
    /// Appends at most so many packets, which stay as they are until the next call. `now`: as
    /// packets are stamped.
    [[nodiscard]] Status take(std::vector<FlowPacket>& packets,
                              std::size_t at_most,
                              Duration now = {});
    /// How long after `now` of the last take() another may have more, whatever event_fd() says.
    [[nodiscard]] std::optional<Duration> patience() const { return patience_; }

    /// Packets that the kernel dropped before the last ones taken came.
    [[nodiscard]] std::uint64_t overflow() const;
    /// Of the fullest flow's socket then, in 255ths.
    [[nodiscard]] std::uint8_t fill() const;

    /// Ends the threads. Then the rest can be asked.
    void stop();
    [[nodiscard]] DriverCounters counters() const;
    [[nodiscard]] seal::SealCounters refused() const;
    /// Packets that reached this host, by flow.
    [[nodiscard]] std::vector<std::uint64_t> received() const;

  private:
    struct Front {
        std::unique_ptr<FlowReader> reader;
        std::optional<FlowBatch> batch;  ///< With a packet that was not taken yet.
        std::size_t next = 0;            ///< Of its packets.
        bool is_dry = false;  ///< It had nothing more after every batch at a front came.
        std::optional<Duration> heard_at{};  ///< When its last packet taken came.
        std::vector<FlowBatch> used;  ///< Whose packets were given out by the last take().
        std::uint64_t overflow = 0;
        std::uint8_t fill = 0;

        [[nodiscard]] std::uint64_t number() const {
            return batch->packets[next].opened.header.packet_number;
        }
        [[nodiscard]] Duration came_at() const {
            return Duration{batch->packets[next].stamp_ns};
        }
    };

    void give_back_used();
    [[nodiscard]] Status merge(std::vector<FlowPacket>& packets,
                               std::size_t at_most,
                               Duration now);
    [[nodiscard]] Result<bool> look_at_fronts();
    [[nodiscard]] Status take_next(Front& front);
    [[nodiscard]] bool awaits_another(const Front& first, Duration now);
    [[nodiscard]] Front* first();
    void step(Front& front, std::vector<FlowPacket>& packets);

    UniqueFd event_;
    Duration skew_;
    std::optional<Duration> patience_;
    /// Of all packets taken. Not of those that only opened: a flow whose thread is late would
    /// count on from numbers far beyond its own.
    std::atomic<std::uint64_t> heard_{0};
    std::vector<Front> fronts_;  ///< By flow. Last: their threads use the above.
};

}  // namespace stage
