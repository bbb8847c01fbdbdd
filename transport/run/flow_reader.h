// Receives one flow on a thread of its own.
//
// The thread waits for the flow's packets, opens each in the buffer that the kernel filled, and
// hands the opened packets over as a batch. There are as many batches as the flow has sets of
// buffers. If none is free the thread waits, and packets wait in the socket, as they would
// before a single thread that is late.
#pragma once

#include "transport/os/unique_fd.h"
#include "transport/run/flow_feed.h"
#include "transport/seal/session_seal.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace stage {

class FlowReader final : public FlowFeed {
  public:
    FlowReader(std::unique_ptr<FlowInbox> inbox, seal::FlowSeal seal);
    FlowReader(const FlowReader&) = delete;
    FlowReader& operator=(const FlowReader&) = delete;
    ~FlowReader() override;

    /// Starts the thread.
    void start(const std::atomic<std::uint64_t>& heard, int event) override;
    [[nodiscard]] Result<std::optional<FlowBatch>> next() override;
    [[nodiscard]] bool has_more() override;
    void give_back(FlowBatch batch) override;

    /// Ends the thread.
    void stop() override;
    [[nodiscard]] const DriverCounters& counters() const override { return inbox_->counters(); }
    [[nodiscard]] const seal::SealCounters& refused() const override {
        return seal_.counters();
    }

  private:
    void work(const std::stop_token& stop);
    [[nodiscard]] bool wait_for_packets(const std::stop_token& stop) const;
    [[nodiscard]] std::optional<FlowBatch> take_free(const std::stop_token& stop);
    [[nodiscard]] Status read(FlowBatch& batch);
    void hand_over(FlowBatch batch, Status read);

    std::unique_ptr<FlowInbox> inbox_;
    seal::FlowSeal seal_;
    const std::atomic<std::uint64_t>* heard_ = nullptr;
    int event_ = -1;
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

/// A reader for each flow of `source`, by flow.
[[nodiscard]] std::vector<std::unique_ptr<FlowFeed>> read_flows(
    std::vector<std::unique_ptr<FlowInbox>> inboxes,
    const seal::SessionSeal& seal,
    Rank source);

}  // namespace stage
