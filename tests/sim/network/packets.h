// The packets in the simulated network.
//
// Packets that were sent in one call travel together, as segments do that a kernel takes in one
// piece: one record for all of them and all their receivers, and a mask of the losses. So a
// packet that reaches ten thousand members costs each of them a bit.
#pragma once

#include "transport/wire/packet.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace stage::sim {

/// A set of a train's packets, bit i for the i-th.
using PacketMask = std::uint64_t;
inline constexpr std::uint32_t kPacketsMax = 64;

/// 1 to kPacketsMax packets: of control, or DATA of consecutive chunks and numbers.
struct Train {
    std::uint16_t from = 0;
    bool to_group = false;
    std::uint16_t to = 0;
    wire::Header header;  ///< The first packet's.
    std::uint32_t count = 1;
    std::uint32_t body_bytes = 0;       ///< On the links, each packet's but the last.
    std::uint32_t last_body_bytes = 0;  ///< On the links, the last packet's.
    std::vector<std::byte> bytes;       ///< What members send and receive (object.h).
    std::size_t packet_bytes = 0;       ///< The size of each of `bytes`, but the last.
    Duration spacing{};                 ///< From one to the next where they enter.

    [[nodiscard]] std::uint32_t body_bytes_of(std::uint32_t index) const {
        return index + 1 == count ? last_body_bytes : body_bytes;
    }
    [[nodiscard]] PacketMask all() const { return ~PacketMask{0} >> (kPacketsMax - count); }
    [[nodiscard]] Bytes packet(std::uint32_t index) const {
        const Bytes rest = Bytes{bytes}.subspan(index * packet_bytes);
        return rest.first(std::min(packet_bytes, rest.size()));
    }

    std::uint32_t uses = 0;  ///< By TrainUse.
};

/// Trains that are no longer in use, for the next ones.
class TrainYard {
  public:
    [[nodiscard]] Train& take() {
        if (free_.empty()) {
            all_.push_back(std::make_unique<Train>());
            free_.push_back(all_.back().get());
        }
        Train& train = *free_.back();
        free_.pop_back();
        return train;
    }
    void give_back(Train& train) { free_.push_back(&train); }

  private:
    std::vector<std::unique_ptr<Train>> all_;
    std::vector<Train*> free_;
};

/// Keeps a train from its yard, which must outlive this.
class TrainUse {
  public:
    TrainUse() = default;
    TrainUse(TrainYard& yard, Train& train) : yard_{&yard}, train_{&train} { ++train.uses; }
    TrainUse(const TrainUse& other) : yard_{other.yard_}, train_{other.train_} {
        if (train_ != nullptr) {
            ++train_->uses;
        }
    }
    TrainUse(TrainUse&& other) noexcept
        : yard_{other.yard_}, train_{std::exchange(other.train_, nullptr)} {}
    TrainUse& operator=(TrainUse other) noexcept {
        std::swap(yard_, other.yard_);
        std::swap(train_, other.train_);
        return *this;
    }
    ~TrainUse() {
        if (train_ != nullptr && --train_->uses == 0) {
            yard_->give_back(*train_);
        }
    }

    [[nodiscard]] const Train& operator*() const { return *train_; }
    [[nodiscard]] const Train* operator->() const { return train_; }

  private:
    TrainYard* yard_ = nullptr;
    Train* train_ = nullptr;
};

}  // namespace stage::sim
