// The receive buffers of one queue pair: posted, filled, handed over, and posted again.
//
// The device drops a datagram that finds no posted buffer, and counts none of them. So
// everything that has arrived is taken from the completion queue at once, which shows how full
// the ring is.
#pragma once

#include "transport/fabric/driver.h"
#include "transport/verbs/device.h"

#include <deque>
#include <memory>
#include <vector>

namespace stage::verbs {

class ReceiveRing {
  public:
    /// `buffers`: their number. Registers the memory and makes the completion queue.
    [[nodiscard]] static Result<ReceiveRing> make(DevicePort& port, std::uint32_t buffers);

    /// The queue that the queue pair is to be made with.
    [[nodiscard]] CompletionQueue& queue() { return *queue_; }
    [[nodiscard]] std::uint32_t buffers() const { return buffers_; }
    /// Posts all buffers. The queue pair must outlive the ring's use. Packets that the port
    /// sent by its queue pair `own_number` are dropped: the device loops multicast back.
    Status start(QueuePair& queue_pair, std::uint32_t own_number);

    /// Appends at most `room` packets and counts them. Their buffers stay as they are until
    /// repost().
    Status take(std::size_t room,
                bool to_group,
                DriverCounters& counters,
                std::vector<ReceivedPacket>& packets);
    /// Posts the buffers of all packets that were handed over.
    Status repost();
    /// Has queue().descriptor() become readable when something arrives. False: something has
    /// arrived already.
    [[nodiscard]] Result<bool> prepare_wait();
    /// The part of the buffers that is filled, in 255ths.
    [[nodiscard]] std::uint8_t fill() const;

  private:
    ReceiveRing() = default;
    Status poll(DriverCounters* counters);
    Status post(std::span<const std::uint64_t> which);
    [[nodiscard]] bool is_own(const Completion& one) const;

    std::unique_ptr<Memory> memory_;
    std::unique_ptr<CompletionQueue> queue_;
    QueuePair* queue_pair_ = nullptr;
    Gid own_gid_{};
    std::uint32_t own_number_ = 0;
    std::uint32_t buffers_ = 0;
    std::size_t stride_ = 0;
    std::deque<Completion> waiting_;   ///< Arrived and not yet handed over.
    std::vector<std::uint64_t> lent_;  ///< Buffers of packets that were handed over.
    const char* failure_ = nullptr;    ///< Not null: the queue pair is of no use any more.
    bool is_armed_ = false;
    bool was_full_ = false;
};

}  // namespace stage::verbs
