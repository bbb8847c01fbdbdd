// The whole buffer is one window: all is sent at once, receivers answer with bitmaps, each
// tenth of the buffer and at the end of each round, and what any receiver lacks is sent again,
// round by round. WAMP sends to one peer; here its blast is multicast and its bitmaps are
// united.
#include "tests/sim/baselines/baselines.h"
#include "tests/sim/baselines/node.h"
#include "transport/base/codec.h"

namespace stage::sim {
namespace {

/// A round is over when all answered, or after this.
constexpr Duration kAnswerMax = milliseconds{2};

class Source final : public PassSource {
  public:
    Source(const Plan& plan, std::uint16_t rank)
        : PassSource{plan, rank},
          lacking_{static_cast<std::uint32_t>(plan.chunks())},
          answered_{plan.members} {}

  private:
    void on_control(Instant, const core::Datagram& datagram) override {
        if (datagram.header.type == wire::PacketType::report && datagram.body[0] == round_) {
            answered_.add(datagram.header.rank);
            ByteReader in{datagram.body.subspan(1)};
            const std::size_t runs = in.u16();
            for_each(datagram.body.subspan(3, runs),
                     [&](std::uint32_t chunk) { lacking_.add(chunk); });
        }
    }
    void work(Instant now) override {
        if (!has_loaded() || PassSource::wants_to_send()) {
            return;
        }
        if (!round_ends_) {
            say_end(now);
            return;
        }
        const bool is_answered = answered_.count() + 1 == plan_.members;
        if (!is_answered && now < *round_ends_) {
            return;
        }
        round_ends_.reset();
        round_ = static_cast<std::byte>(std::to_integer<unsigned>(round_) + 1U);
        answered_.clear();
        repeats_ = lacking_;
        lacking_.clear();
        if (repeats_.is_empty()) {
            say_end(now);  // answers were lost, or all have it
        }
    }
    void say_end(Instant now) {
        control_.push(wire::PacketType::end, group(), {round_});
        round_ends_ = now + kAnswerMax;
    }
    [[nodiscard]] std::optional<Instant> next() const override {
        const bool is_round = has_loaded() && !PassSource::wants_to_send() && !round_ends_;
        return is_round ? std::optional{core::kLongAgo} : round_ends_;
    }

    core::ChunkSet lacking_;
    core::RankSet answered_;
    std::byte round_{1};
    std::optional<Instant> round_ends_;
};

class Receiver final : public Node {
  public:
    using Node::Node;

  private:
    void on_chunk(Instant, const core::Datagram&, std::uint32_t) override {
        if (++came_ % std::max(chunks() / 10, 1U) == 0) {
            answer(std::byte{0});
        }
    }
    void on_control(Instant, const core::Datagram& datagram) override {
        answer(datagram.body[0]);
    }
    /// Answers with as many bytes as the bitmap has, if a packet takes that, written as runs.
    void answer(std::byte round) {
        const auto runs = missing(chunks());
        std::vector<std::byte> body = ByteWriter{}
                                          .u8(std::to_integer<std::uint8_t>(round))
                                          .u16(static_cast<std::uint16_t>(runs.size()))
                                          .raw(runs)
                                          .take();
        body.resize(
            std::min(std::max(body.size(), chunks() / std::size_t{8}), wire::kMaxBodyBytes));
        control_.push_peer(wire::PacketType::report, Rank{plan_.source}, std::move(body));
    }

    std::uint32_t came_ = 0;
};

}  // namespace

std::unique_ptr<core::Core> make_bitmap(const Plan& plan, std::uint16_t rank) {
    if (rank == plan.source) {
        return std::make_unique<Source>(plan, rank);
    }
    return std::make_unique<Receiver>(plan, rank);
}

}  // namespace stage::sim
