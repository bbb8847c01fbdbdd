// Go-back-N with an acker's window, as "Enhancing the MPI Broadcast for file distribution" has
// it: receivers take chunks in order only and refuse others with a NACK; the last one that
// refused is the acker and acknowledges each chunk; the window grows by its acknowledgements as
// TCP's does and is halved by a NACK. NACKs that come together are one. The paper's timers (100
// and 50 ms) suit another network: these are shorter.
#include "tests/sim/baselines/baselines.h"
#include "tests/sim/baselines/node.h"
#include "transport/base/codec.h"

namespace stage::sim {
namespace {

constexpr double kThreshold = 8;
constexpr Duration kGather = microseconds{100};
constexpr Duration kReceiverWaits = milliseconds{2};
constexpr Duration kSourceWaits = milliseconds{1};
/// A chunk out of order is refused once in this time.
constexpr Duration kRefuseEvery = microseconds{200};

class Source final : public Node {
  public:
    Source(const Plan& plan, std::uint16_t rank) : Node{plan, rank} {
        appoint(plan.source == 0 ? 1U : 0U);
    }

  private:
    /// A NACK names the chunk that is expected; an ACK how many came in order.
    void on_control(Instant now, const core::Datagram& datagram) override {
        ByteReader in{datagram.body};
        const std::uint32_t number = in.u32();
        heard_at_ = now;
        if (datagram.header.type == wire::PacketType::lacking) {
            appoint(datagram.header.rank.value());
            back_to_ = std::min(back_to_.value_or(number), number);
            back_at_ = back_at_.value_or(now + kGather);
        } else if (datagram.header.rank.value() == acker_ && number > acked_) {
            grow(number - acked_);
            acked_ = number;
        }
    }
    /// (The paper's data packets name the acker.)
    void appoint(std::uint32_t rank) {
        if (rank != acker_) {
            acker_ = rank;
            control_.push_group(wire::PacketType::offer, ByteWriter{}.u32(acker_).take());
        }
    }
    void grow(std::uint32_t acks) {
        for (; acks > 0; --acks) {
            if (ignored_ > 0) {
                --ignored_;
            } else {
                window_ += window_ < kThreshold ? 1 : 1 / window_;
            }
        }
    }
    void work(Instant now) override {
        if (back_at_ && now >= *back_at_) {
            cursor_ = std::min(cursor_, *back_to_);
            acked_ = std::min(acked_, cursor_);
            window_ = std::max(window_ / 2, 1.0);
            ignored_ = static_cast<std::uint32_t>(window_ / 2);
            back_at_.reset();
            back_to_.reset();
        }
        // Acknowledgements were lost, or the last chunks.
        if (has_loaded() && !wants_to_send() && now >= heard_at_ + kSourceWaits) {
            heard_at_ = now;
            acked_ = cursor_ = cursor_ > 0 ? cursor_ - 1 : 0;
        }
    }
    [[nodiscard]] std::uint32_t in_flight() const {
        return cursor_ - std::min(acked_, cursor_);
    }
    [[nodiscard]] bool wants_to_send() const override {
        return has_loaded() && cursor_ < chunks() && in_flight() < window_;
    }
    void fill(Instant now, core::SendBatch& batch) override {
        while (wants_to_send()) {
            const auto room = static_cast<std::uint32_t>(window_) - in_flight();
            const std::uint32_t sent =
                send(now,
                     batch,
                     group(),
                     cursor_,
                     std::clamp(chunks() - cursor_, 1U, std::max(room, 1U)));
            if (sent == 0) {
                return;
            }
            cursor_ += sent;
            heard_at_ = now;
        }
    }
    [[nodiscard]] std::optional<Instant> next() const override {
        return core::earlier(back_at_,
                             has_loaded() && !wants_to_send()
                                 ? std::optional{heard_at_ + kSourceWaits}
                                 : std::nullopt);
    }

    std::uint32_t acker_ = ~0U;
    std::uint32_t cursor_ = 0;
    std::uint32_t acked_ = 0;
    double window_ = 1;
    std::uint32_t ignored_ = 0;
    Instant heard_at_{};
    std::optional<std::uint32_t> back_to_;
    std::optional<Instant> back_at_;
};

class Receiver final : public Node {
  public:
    using Node::Node;

  private:
    bool wants(std::uint32_t chunk) override { return chunk == expected_; }
    void on_control(Instant, const core::Datagram& datagram) override {
        is_acker_ = ByteReader{datagram.body}.u32() == rank_;
        is_news_ = is_acker_;
    }
    void on_chunk(Instant now, const core::Datagram&, std::uint32_t chunk) override {
        if (chunk == expected_) {
            ++expected_;
            is_news_ = is_acker_ || has_all();
        } else if (chunk > expected_) {
            refuse(now);
        }
        heard_at_ = now;
    }
    void refuse(Instant now) {
        if (now >= refused_at_ + kRefuseEvery) {
            refused_at_ = now;
            say(wire::PacketType::lacking);
        }
    }
    void say(wire::PacketType type) {
        control_.push_peer(type, Rank{plan_.source}, ByteWriter{}.u32(expected_).take());
    }
    void work(Instant now) override {
        if (is_news_) {
            is_news_ = false;
            say(wire::PacketType::report);
        }
        if (heard_at_ && !has_all() && now >= *heard_at_ + kReceiverWaits) {
            heard_at_ = now;
            say(wire::PacketType::lacking);
        }
    }
    [[nodiscard]] std::optional<Instant> next() const override {
        return heard_at_ && !has_all() ? std::optional{*heard_at_ + kReceiverWaits}
                                       : std::nullopt;
    }

    std::uint32_t expected_ = 0;
    bool is_news_ = false;
    bool is_acker_ = false;
    Instant refused_at_ = core::kLongAgo;
    std::optional<Instant> heard_at_;
};

}  // namespace

std::unique_ptr<core::Core> make_go_back(const Plan& plan, std::uint16_t rank) {
    if (rank == plan.source) {
        return std::make_unique<Source>(plan, rank);
    }
    return std::make_unique<Receiver>(plan, rank);
}

}  // namespace stage::sim
