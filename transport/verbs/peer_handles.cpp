#include "transport/verbs/peer_handles.h"

#include <chrono>
#include <utility>

namespace stage::verbs {
namespace {

/// Between two attempts for peers whose address could not be resolved.
constexpr std::chrono::seconds kRetry{1};

}  // namespace

PeerHandles::PeerHandles(DevicePort& port, std::vector<UdAddress> peers, Rank own, Rank first)
    : port_{port},
      peers_{std::move(peers)},
      handles_(peers_.size()),
      ready_(peers_.size()),
      thread_{[this, own, first] { make_all(own, first); }} {
}

PeerHandles::~PeerHandles() {
    {
        const std::lock_guard lock{mutex_};
        is_ending_ = true;
    }
    ends_.notify_all();
    thread_.join();
}

bool PeerHandles::make(std::size_t peer) {
    auto made = port_.handle(peers_[peer]);
    if (!made) {
        return false;
    }
    handles_[peer] = *std::move(made);
    ready_[peer].store(handles_[peer].get(), std::memory_order_release);
    return true;
}

bool PeerHandles::pause() {
    std::unique_lock lock{mutex_};
    return !ends_.wait_for(lock, kRetry, [this] { return is_ending_; });
}

void PeerHandles::make_all(Rank own, Rank first) {
    std::vector<std::size_t> missing;
    if (first != own) {
        missing.push_back(first.index());
    }
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
        if (peer != own.index() && peer != first.index()) {
            missing.push_back(peer);
        }
    }
    const auto is_ending = [this] {
        const std::lock_guard lock{mutex_};
        return is_ending_;
    };
    do {
        std::vector<std::size_t> failed;
        for (const std::size_t peer : missing) {
            if (is_ending()) {
                return;
            }
            if (!make(peer)) {
                failed.push_back(peer);
            }
        }
        missing = std::move(failed);
    } while (!missing.empty() && pause());
}

}  // namespace stage::verbs
