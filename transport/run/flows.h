// Merges the packets of several flows into the order of their packet numbers.
//
// Each flow is received by a thread of its own (flow_feed.h), and one thread may be late. If
// its packets were passed on after younger ones of other flows, they would look lost, be
// requested and be sent twice. So a packet waits until every flow has shown its next one or has
// no more, neither in its socket nor in its thread's hands. Flows over the same path need no
// more than that. On several rails, or where a bond or a fabric spreads flows over paths, each
// path has queues of its own, so an earlier packet can arrive later: there a packet waits a
// bounded time for flows that brought something recently. This time, the skew, is learned from
// packets that arrive after later ones of other flows.
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/run/flow_feed.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace stage {

class Flows {
  public:
    /// By how much the queues on two rails may differ: a switch's or a shaper's buffer.
    static constexpr Duration kRailSkew = std::chrono::milliseconds{30};

    /// Starts what brings each flow, by flow. `skew`: how much later than another a live flow
    /// may bring packets that were sent earlier, before anything is learned about it.
    explicit Flows(std::vector<std::unique_ptr<FlowFeed>> feeds, Duration skew = {});
    ~Flows();
    Flows(const Flows&) = delete;
    Flows& operator=(const Flows&) = delete;

    /// Readable while take() may have something.
    [[nodiscard]] int event_fd() const { return event_.get(); }
    /// Appends up to `at_most` packets, which stay as they are until the next call. `now`: by
    /// the clock of the packets' stamps.
    [[nodiscard]] Status take(std::vector<FlowPacket>& packets,
                              std::size_t at_most,
                              Duration now = {});
    /// How long after `now` of the last take() another may return more, whatever event_fd()
    /// says.
    [[nodiscard]] std::optional<Duration> wait_max() const { return wait_max_; }

    /// Packets that the kernel dropped before the last ones taken arrived.
    [[nodiscard]] std::uint64_t overflow() const;
    /// Fill level of the fullest flow's socket at that time, in 255ths.
    [[nodiscard]] std::uint8_t fill() const;

    /// Ends the threads. The counters below can be read then.
    void stop();
    [[nodiscard]] DriverCounters counters() const;
    [[nodiscard]] seal::SealCounters refused() const;
    /// Packets that reached this host, by flow.
    [[nodiscard]] std::vector<std::uint64_t> received() const;

  private:
    struct Front {
        std::unique_ptr<FlowFeed> feed;
        std::optional<FlowBatch> batch;  ///< With a packet that was not taken yet.
        std::size_t next = 0;            ///< The next of its packets.
        /// The feed had nothing more after the batches at all other fronts had arrived.
        bool is_dry = false;
        std::optional<Duration> heard_at{};  ///< When its last packet taken arrived.
        std::uint64_t largest = 0;           ///< The largest number of the packets taken.
        /// Batches whose packets were returned by the last take().
        std::vector<FlowBatch> used;
        std::uint64_t overflow = 0;
        std::uint8_t fill = 0;

        [[nodiscard]] std::uint64_t number() const {
            return batch->packets[next].opened.header.packet_number;
        }
        [[nodiscard]] Duration came_at() const {
            return Duration{batch->packets[next].stamp_ns};
        }
    };

    /// A packet that was taken, and had the largest number until then.
    struct Passed {
        std::uint64_t number = 0;
        Duration came_at{};
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
    void remember(const Front& front);
    void learn_skew(const Front& front);

    UniqueFd event_;
    Duration skew_;
    std::optional<Duration> wait_max_;
    std::deque<Passed> passed_;  ///< The last ones, kSampleEvery apart.
    /// The largest number of the packets taken. Packets that were only opened do not count: a
    /// flow whose thread is late would expand its numbers from one far beyond its own.
    std::atomic<std::uint64_t> heard_{0};
    /// By flow. Last, because their threads use the members above.
    std::vector<Front> fronts_;
};

}  // namespace stage
