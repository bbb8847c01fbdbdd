// The send buffers of one queue pair.
//
// A train's packets are copied into registered buffers before send() returns, so that no block
// has to be kept until the device has sent them. One completion a train frees its buffers.
#pragma once

#include "transport/fabric/driver.h"
#include "transport/verbs/device.h"

#include <memory>
#include <vector>

namespace stage::verbs {

/// The destination of a train.
struct SendTarget {
    const AddressHandle* handle = nullptr;
    std::uint32_t queue_pair = 0;
    std::uint32_t qkey = 0;
};

class SendRing {
  public:
    /// Registers the memory and makes the completion queue.
    [[nodiscard]] static Result<SendRing> make(DevicePort& port, std::uint32_t buffers);

    /// The queue that the queue pair is to be made with; its descriptor becomes readable once
    /// a train that was refused has room.
    [[nodiscard]] CompletionQueue& queue() { return *queue_; }
    [[nodiscard]] std::uint32_t buffers() const { return buffers_; }

    /// Copies and sends the whole train or refuses it.
    [[nodiscard]] Result<Sent> send(QueuePair& by, const Train& train, const SendTarget& to);

    /// Waits until what was sent has left, but not long: address handles are in use until then.
    void drain();

  private:
    SendRing() = default;
    /// False: there is no room, and the queue is armed.
    [[nodiscard]] Result<bool> make_room(std::uint64_t packets);
    Status free_sent();
    void fill(const Train& train, const SendTarget& to);

    std::unique_ptr<Memory> memory_;
    std::unique_ptr<CompletionQueue> queue_;
    std::uint32_t buffers_ = 0;
    std::size_t stride_ = 0;
    std::uint64_t used_ = 0;   ///< Buffers that were ever used; a buffer's number modulo all.
    std::uint64_t freed_ = 0;  ///< Buffers whose packets have left, of these.
    bool is_armed_ = false;
    std::vector<SendRequest> requests_;
};

}  // namespace stage::verbs
