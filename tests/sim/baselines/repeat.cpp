// Selective repeat: receivers report missing chunks to the source, and the source multicasts
// each again, once in a while however many report it. Peers do not repair.
#include "tests/sim/baselines/baselines.h"
#include "tests/sim/baselines/node.h"

namespace stage::sim {
namespace {

/// A request within this time after a repeat was sent before the repeat arrived.
constexpr Duration kRepeatWindow = microseconds{500};
constexpr Duration kAskEvery = milliseconds{1};

class Source final : public PassSource {
  public:
    Source(const Plan& plan, std::uint16_t rank)
        : PassSource{plan, rank}, asked_at_(plan.chunks(), core::kLongAgo) {}

  private:
    void on_control(Instant now, const core::Datagram& datagram) override {
        for_each(datagram.body, [&](std::uint32_t chunk) {
            if (chunk < cursor_ && now > asked_at_[chunk] + kRepeatWindow) {
                asked_at_[chunk] = now;
                repeats_.add(chunk);
            }
        });
    }

    std::vector<Instant> asked_at_;
};

class Receiver final : public Node {
  public:
    using Node::Node;

  private:
    void on_chunk(Instant now, const core::Datagram&, std::uint32_t chunk) override {
        below_ = std::max(below_, chunk);
        ask_at_ = ask_at_.value_or(now + kAskEvery);
    }
    void on_control(Instant now, const core::Datagram&) override {  // END
        if (below_ < chunks()) {
            below_ = chunks();
            ask_at_ = now;
        }
    }
    void work(Instant now) override {
        if (!ask_at_ || now < *ask_at_ || has_all()) {
            return;
        }
        ask_at_ = now + kAskEvery;
        if (have_.next_absent(0) < below_) {
            control_.push_peer(wire::PacketType::request, Rank{plan_.source}, missing(below_));
        }
    }
    [[nodiscard]] std::optional<Instant> next() const override {
        return has_all() ? std::nullopt : ask_at_;
    }

    std::uint32_t below_ = 0;
    std::optional<Instant> ask_at_;
};

}  // namespace

std::unique_ptr<core::Core> make_repeat(const Plan& plan, std::uint16_t rank) {
    if (rank == plan.source) {
        return std::make_unique<Source>(plan, rank);
    }
    return std::make_unique<Receiver>(plan, rank);
}

}  // namespace stage::sim
