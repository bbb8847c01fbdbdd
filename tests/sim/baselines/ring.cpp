// Multicast once, then a chain: each member asks its predecessor for what it misses, and gets
// it as soon as that one has it. "A practically constant-time MPI Broadcast Algorithm for
// large-scale InfiniBand Clusters with Multicast", 2007: no acknowledgement at the root.
#include "tests/sim/baselines/baselines.h"
#include "tests/sim/baselines/node.h"

namespace stage::sim {
namespace {

constexpr Duration kAskAgain = milliseconds{2};

/// What the successor in the chain still wants.
template <class Base>
class Link : public Base {
  public:
    Link(const Plan& plan, std::uint16_t rank)
        : Base{plan, rank}, requested_{static_cast<std::uint32_t>(plan.chunks())} {}

  protected:
    void on_request(const core::Datagram& datagram) {
        this->for_each(datagram.body, [&](std::uint32_t chunk) { requested_.add(chunk); });
    }
    [[nodiscard]] bool can_give() const {
        for (std::uint32_t chunk = requested_.next(0); chunk < requested_.capacity();
             chunk = requested_.next(chunk + 1)) {
            if (this->have_.has(chunk)) {
                return true;
            }
        }
        return false;
    }
    void give(Instant now, core::SendBatch& batch) {
        this->send_wanted(now, batch, this->peer(successor()), requested_);
    }
    [[nodiscard]] std::uint32_t successor() const {
        return (this->rank_ + 1U) % this->plan_.members;
    }
    core::ChunkSet requested_;
};

class Source final : public Link<PassSource> {
  public:
    using Link::Link;

  private:
    void on_control(Instant, const core::Datagram& datagram) override { on_request(datagram); }
    [[nodiscard]] bool wants_to_send() const override {
        return PassSource::wants_to_send() || can_give();
    }
    void fill(Instant now, core::SendBatch& batch) override {
        PassSource::fill(now, batch);
        give(now, batch);
    }
};

class Member final : public Link<Node> {
  public:
    using Link::Link;

  private:
    void on_control(Instant now, const core::Datagram& datagram) override {
        if (datagram.header.type == wire::PacketType::request) {
            on_request(datagram);
        } else if (!ask_at_) {
            ask_at_ = now;  // END: the second stage begins
        }
    }
    void work(Instant now) override {
        if (ask_at_ && now >= *ask_at_ && !has_all()) {
            ask_at_ = now + kAskAgain;
            const std::uint32_t predecessor = (rank_ + plan_.members - 1U) % plan_.members;
            control_.push(wire::PacketType::request, peer(predecessor), missing(chunks()));
        }
    }
    [[nodiscard]] bool wants_to_send() const override { return can_give(); }
    void fill(Instant now, core::SendBatch& batch) override { give(now, batch); }
    [[nodiscard]] std::optional<Instant> next() const override {
        return has_all() ? std::nullopt : ask_at_;
    }

    std::optional<Instant> ask_at_;
};

}  // namespace

std::unique_ptr<core::Core> make_ring(const Plan& plan, std::uint16_t rank) {
    if (rank == plan.source) {
        return std::make_unique<Source>(plan, rank);
    }
    return std::make_unique<Member>(plan, rank);
}

}  // namespace stage::sim
