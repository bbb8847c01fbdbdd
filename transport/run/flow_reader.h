// Receives one flow on a thread of its own.
//
// The thread waits for the flow's packets, opens each in the buffer that the kernel filled, and
// hands the opened packets over as a batch. There are as many batches as the flow has sets of
// buffers. If none is free the thread waits, and packets wait in the socket, as they would
// before a single thread that is late.
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/run/driver.h"
#include "transport/seal/flow_seal.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace stage {

/// An opened packet of a flow.
struct FlowPacket {
    seal::Opened opened;  ///< In the flow's buffers.
    std::int64_t stamp_ns = 0;
};

/// What one call received, in the order of arrival.
struct FlowBatch {
    std::size_t set = 0;  ///< The set of buffers that the packets are in.
    std::vector<FlowPacket> packets;
    std::uint64_t overflow = 0;  ///< The flow's counter at that time.
    std::uint8_t fill = 0;
};

class FlowReader {
  public:
    /// `heard` is the largest packet number of the source that arrived on any flow. `event`, a
    /// descriptor, is written to whenever the result of next() or has_more() may have changed.
    /// Both must outlive this.
    FlowReader(std::unique_ptr<FlowInbox> inbox,
               seal::FlowSeal seal,
               const std::atomic<std::uint64_t>& heard,
               int event);
    ~FlowReader();
    FlowReader(const FlowReader&) = delete;
    FlowReader& operator=(const FlowReader&) = delete;

    /// The oldest batch that was handed over, of one packet or more. An error means that this
    /// flow has failed.
    [[nodiscard]] Result<std::optional<FlowBatch>> next();
    /// True if a packet has reached this host by this flow that next() has not returned.
    [[nodiscard]] bool has_more();
    /// Frees the batch's buffers.
    void give_back(FlowBatch batch);

    /// Ends the thread; its counters can be read then.
    void stop();
    [[nodiscard]] const DriverCounters& counters() const { return inbox_->counters(); }
    [[nodiscard]] const seal::SealCounters& refused() const { return seal_.counters(); }

  private:
    void work(const std::stop_token& stop);
    [[nodiscard]] bool wait_for_packets(const std::stop_token& stop) const;
    [[nodiscard]] std::optional<FlowBatch> take_free(const std::stop_token& stop);
    [[nodiscard]] Status read(FlowBatch& batch);
    void hand_over(FlowBatch batch, Status read);

    std::unique_ptr<FlowInbox> inbox_;
    seal::FlowSeal seal_;
    const std::atomic<std::uint64_t>& heard_;
    int event_;
    UniqueFd stopped_;                     ///< Readable once the thread shall end.
    std::vector<ReceivedPacket> packets_;  ///< The thread's.

    std::mutex mutex_;  ///< Guards everything below; held only to move a batch.
    std::condition_variable_any freed_;
    std::vector<FlowBatch> free_;
    std::deque<FlowBatch> ready_;
    bool is_reading_ = false;  ///< The thread may have packets that were in the socket.
    Status failed_;
    std::jthread thread_;  ///< Last: it uses all of the above.
};

}  // namespace stage
