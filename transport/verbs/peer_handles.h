// Address handles of the members, made by a thread of its own.
//
// On RoCE the kernel resolves the peer's address by ARP, which takes up to seconds where a peer
// does not answer. Until a handle is there, packets to that member are lost, as they would be
// in the network.
#pragma once

#include "transport/verbs/device.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace stage::verbs {

class PeerHandles {
  public:
    /// The handle of `first` is made first, then those of the other ranks in their order. The
    /// port must outlive this.
    PeerHandles(DevicePort& port, std::vector<UdAddress> peers, Rank own, Rank first);
    ~PeerHandles();
    PeerHandles(const PeerHandles&) = delete;
    PeerHandles& operator=(const PeerHandles&) = delete;

    /// Null: it is not there yet.
    [[nodiscard]] const AddressHandle* find(Rank peer) const {
        return ready_[peer.index()].load(std::memory_order_acquire);
    }
    [[nodiscard]] const UdAddress& address(Rank peer) const { return peers_[peer.index()]; }

  private:
    void make_all(Rank own, Rank first);
    [[nodiscard]] bool make(std::size_t peer);
    /// False: the thread is to end.
    [[nodiscard]] bool pause();

    DevicePort& port_;
    const std::vector<UdAddress> peers_;
    std::vector<std::unique_ptr<AddressHandle>> handles_;  ///< The thread's.
    std::vector<std::atomic<const AddressHandle*>> ready_;
    std::mutex mutex_;
    std::condition_variable ends_;
    bool is_ending_ = false;
    std::thread thread_;
};

}  // namespace stage::verbs
