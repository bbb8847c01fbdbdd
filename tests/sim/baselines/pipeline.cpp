// The binomial pipeline: members are the corners of a hypercube; in step t each gives its
// neighbour along dimension t mod d the highest block that it has (the source block t), so that
// k blocks reach N members in k + log2 N - 1 steps (Traff and Ripke; RDMC). A member that
// misses a chunk of a block requests it from the neighbour that should have sent it, as TCP or
// RDMA would.
#include "tests/sim/baselines/baselines.h"
#include "tests/sim/baselines/node.h"

#include <bit>

namespace stage::sim {
namespace {

constexpr std::uint32_t kNone = ~0U;
constexpr Duration kAskAgain = microseconds{500};
/// Without a packet for this time whole blocks were lost, and are requested from their givers.
constexpr Duration kTimeout = milliseconds{5};

/// Which member gives which block to which other in every step: kNone where none.
class Schedule {
  public:
    Schedule(std::uint32_t members, std::uint32_t blocks)
        : dimensions_{static_cast<std::uint32_t>(std::countr_zero(members))},
          last_block_{blocks - 1} {
        std::vector<std::uint32_t> highest(members, kNone);
        for (std::uint32_t step = 0; step + 1 < blocks + dimensions_; ++step) {
            steps_.push_back(highest);
            for (std::uint32_t node = 1; node < members; ++node) {
                const std::uint32_t got = gives(neighbour(node, step), step);
                if (got != kNone && (highest[node] == kNone || got > highest[node])) {
                    highest[node] = got;
                }
            }
        }
    }

    [[nodiscard]] std::uint32_t steps() const {
        return static_cast<std::uint32_t>(steps_.size());
    }
    [[nodiscard]] std::uint32_t neighbour(std::uint32_t node, std::uint32_t step) const {
        return node ^ (1U << step % dimensions_);
    }
    [[nodiscard]] std::uint32_t gives(std::uint32_t node, std::uint32_t step) const {
        return node == 0 ? std::min(step, last_block_) : steps_[step][node];
    }

  private:
    std::uint32_t dimensions_;
    std::uint32_t last_block_;
    std::vector<std::vector<std::uint32_t>> steps_;
};

/// One for all members of a world; made again when the world is another.
const Schedule& schedule_of(const Plan& plan) {
    static std::pair<std::uint32_t, std::size_t> of{};
    static std::unique_ptr<Schedule> made;
    const std::pair<std::uint32_t, std::size_t> key{plan.members, plan.block_bytes.size()};
    if (!made || of != key) {
        of = key;
        made = std::make_unique<Schedule>(key.first, static_cast<std::uint32_t>(key.second));
    }
    return *made;
}

class Corner final : public Node {
  public:
    Corner(const Plan& plan, std::uint16_t rank)
        : Node{plan, rank}, schedule_{schedule_of(plan)}, heard_(plan.block_bytes.size()) {}

  private:
    /// Asked again for chunks that were lost. (For what isn't here it will be asked again.)
    void on_control(Instant, const core::Datagram& datagram) override {
        auto [at, is_new] = repeats_.try_emplace(datagram.header.rank.value(), chunks());
        core::ChunkSet& wanted = at->second;
        for_each(datagram.body, [&](std::uint32_t chunk) {
            if (have_.has(chunk)) {
                wanted.add(chunk);
            }
        });
    }
    void on_chunk(Instant now, const core::Datagram& datagram, std::uint32_t) override {
        came_at_ = now;
        Heard& heard = heard_[datagram.header.block.index()];
        heard.from = datagram.header.rank;
        heard.ask_at = now + kAskAgain;
        const bool is_last = have_.next_absent(first_of(datagram.header.block.value())) >=
                             first_of(datagram.header.block.value() + 1);
        const bool is_tail =
            datagram.header.chunk.value() + 1U == first_of(datagram.header.block.value() + 1) -
                                                      first_of(datagram.header.block.value());
        if (is_tail && !is_last) {
            heard.ask_at = now;
        }
        is_open_ = is_open_ || !is_last;
    }
    /// Two neighbours may send at once, and a full port lose all of a block. What was to come
    /// before the last that did is lost, and so, where nothing comes at all, is the next.
    void look_for_lost(Instant now) {
        if (!came_at_ || has_all() || now < *came_at_ + kTimeout) {
            return;
        }
        came_at_ = now;
        const std::uint32_t begun = steps_begun();
        for (std::uint32_t step = 0; step < schedule_.steps(); ++step) {
            const std::uint32_t giver = schedule_.neighbour(rank_, step);
            const std::uint32_t block = schedule_.gives(giver, step);
            if (block == kNone || is_here(block) || heard_[block].ask_at) {
                continue;
            }
            heard_[block] = {.from = Rank{static_cast<std::uint16_t>(giver)}, .ask_at = now};
            is_open_ = true;
            if (step >= begun) {
                return;
            }
        }
    }
    /// Steps up to the last of which something came.
    [[nodiscard]] std::uint32_t steps_begun() const {
        for (std::uint32_t step = schedule_.steps(); step > 0; --step) {
            const std::uint32_t giver = schedule_.neighbour(rank_, step - 1);
            const std::uint32_t block = schedule_.gives(giver, step - 1);
            if (block != kNone && (is_here(block) || heard_[block].ask_at) &&
                heard_[block].from.value() == giver) {
                return step;
            }
        }
        return 0;
    }
    void work(Instant now) override {
        skip();
        look_for_lost(now);
        if (!is_open_) {
            return;
        }
        is_open_ = false;
        ask_at_.reset();
        for (std::uint32_t block = 0; block < heard_.size(); ++block) {
            Heard& heard = heard_[block];
            if (!heard.ask_at || is_here(block)) {
                heard.ask_at.reset();
                continue;
            }
            if (now >= *heard.ask_at) {
                heard.ask_at = now + kAskAgain;
                ask(block, heard.from);
            }
            is_open_ = true;
            ask_at_ = core::earlier(ask_at_, heard.ask_at);
        }
    }
    void ask(std::uint32_t block, Rank from) {
        wire::Request body;
        const std::uint32_t end = first_of(block + 1);
        for (std::uint32_t chunk = have_.next_absent(first_of(block)); chunk < end;) {
            const std::uint32_t until = std::min(have_.next(chunk), end);
            body.runs.push_back({.block = BlockIndex{block},
                                 .first = static_cast<std::uint16_t>(chunk - first_of(block)),
                                 .count = static_cast<std::uint16_t>(until - chunk)});
            chunk = have_.next_absent(until);
        }
        control_.push_peer(wire::PacketType::request, from, wire::write(body));
    }
    [[nodiscard]] bool is_here(std::uint32_t block) const {
        return have_.next_absent(first_of(block)) >= first_of(block + 1);
    }
    /// Steps in which there is nothing to give, or the neighbour has it already.
    void skip() {
        while (step_ < schedule_.steps() && sent_ == 0 &&
               (schedule_.gives(rank_, step_) == kNone ||
                schedule_.neighbour(rank_, step_) == plan_.source)) {
            ++step_;
        }
    }
    [[nodiscard]] bool wants_to_send() const override {
        if (is_source() && !has_loaded()) {
            return false;
        }
        for (const auto& [rank, wanted] : repeats_) {
            if (!wanted.is_empty()) {
                return true;
            }
        }
        return step_ < schedule_.steps() && schedule_.gives(rank_, step_) != kNone &&
               is_here(schedule_.gives(rank_, step_));
    }
    void fill(Instant now, core::SendBatch& batch) override {
        for (auto& [rank, wanted] : repeats_) {
            send_wanted(now, batch, peer(rank), wanted);
        }
        for (skip(); step_ < schedule_.steps(); skip()) {
            const std::uint32_t block = schedule_.gives(rank_, step_);
            if (!is_here(block)) {
                return;
            }
            const std::uint32_t size = first_of(block + 1) - first_of(block);
            const std::uint32_t sent = send(now,
                                            batch,
                                            peer(schedule_.neighbour(rank_, step_)),
                                            first_of(block) + sent_,
                                            size - sent_);
            sent_ += sent;
            if (sent_ < size) {
                return;
            }
            sent_ = 0;
            ++step_;
        }
    }
    [[nodiscard]] std::optional<Instant> next() const override {
        return core::earlier(
            ask_at_,
            came_at_ && !has_all() ? std::optional{*came_at_ + kTimeout} : std::nullopt);
    }

    struct Heard {
        Rank from;
        std::optional<Instant> ask_at;
    };

    const Schedule& schedule_;
    std::vector<Heard> heard_;
    std::map<std::uint32_t, core::ChunkSet> repeats_;
    std::uint32_t step_ = 0;
    std::uint32_t sent_ = 0;  ///< Chunks of this step's block.
    bool is_open_ = false;
    std::optional<Instant> ask_at_;
    std::optional<Instant> came_at_;  ///< Anything, last.
};

}  // namespace

std::unique_ptr<core::Core> make_pipeline(const Plan& plan, std::uint16_t rank) {
    return std::make_unique<Corner>(plan, rank);
}

}  // namespace stage::sim
