// Requests missing chunks from peers.
//
// It requests a few chunks of one block at a time, no faster than its own link takes the
// answers: with a small share of the rate during the first pass, and with the whole rate
// afterwards. A peer that lacks the chunks answers LACKING, and the next peer is asked at once;
// a request without an answer times out. After several failures the source is asked, by so few
// members of a group that it can answer. In the end-game each missing chunk is requested from
// several peers.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/chunk_map.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/repair/peer_choice.h"
#include "transport/core/repair/repair_rate_search.h"
#include "transport/core/repair/spurious_timeouts.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/cubic_window.h"
#include "transport/core/sending/pacer.h"
#include "transport/core/sending/rtt_estimator.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace stage::core {

/// How fast the source's packets arrive, headers included.
struct StreamRate {
    std::uint64_t bytes_per_s = 0;  ///< 0: not known.
    /// The stream never paused meanwhile. If it did, because it waited for its window or its
    /// disk, the path takes more than this, and perhaps much more.
    bool is_steady = true;
};

class Puller {
  public:
    /// `prng` must outlive this.
    Puller(const CoreConfig& config, const Limits& limits, Prng& prng);

    /// The first pass is over: the whole link is free for repairs.
    void on_end(Instant now);

    /// Multicast does not reach this member, which fetches the whole object. Its repairs share
    /// its path with other flows as TCP does, and are no faster than this. 0: it does again.
    void set_alone(Instant now, std::uint64_t bytes_per_s);
    /// Multicast reaches neither this member nor most others, so all fetch the object from each
    /// other (scatter/allgather repair).
    void set_swarm(bool is_swarm) { is_swarm_ = is_swarm; }
    /// The members do so, and the source sends nothing to the group any more.
    [[nodiscard]] bool is_swarm() const { return is_swarm_ && alone_ && is_ended_; }
    /// The source's packets arrive at this rate, so the link takes answers as fast.
    void on_stream(Instant now, const StreamRate& stream);
    /// A packet of the first pass arrived.
    void on_stream_packet(Instant now) { stream_at_ = now; }
    /// A requested chunk arrived, from the asked peer or another.
    void on_arrival(Instant now, Rank from, OpenBlock& open, std::uint32_t chunk);
    /// `is_busy`: the peer may have the chunks, but has no room to answer now.
    void on_lacking(
        Instant now, Rank from, const wire::Request& lacking, bool is_busy, ChunkMap& map);
    /// The block is closed: its requests end.
    void forget(BlockIndex block);

    /// More chunks may be missing: look for them soon, or at once.
    void look(Instant now, bool at_once = false) {
        next_look_ = at_once ? now : next_look_;
        look_again(now);
    }
    /// Expires requests, then requests missing chunks before `settled`.
    void poll(Instant now, Position settled, ChunkMap& map, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// The rate at which answers may arrive: the configured one, or the one that the search
    /// found.
    [[nodiscard]] std::uint64_t rate_bytes_per_s() const {
        return alone_ ? std::max(rate_, pacer_.rate_bytes_per_s()) : rate_;
    }
    /// The time that this number of bytes takes at that rate.
    [[nodiscard]] Duration time_of(std::uint64_t bytes) const {
        return stage::time_of(bytes, rate_);
    }
    /// The least allowance for late answers, because peers wake late.
    [[nodiscard]] Duration margin() const {
        return std::min(limits_.timeout_margin_min, time_of(kBlockBytes));
    }
    [[nodiscard]] const RttEstimator& round_trip() const { return round_trip_; }
    [[nodiscard]] PeerChoice& peers() { return peers_; }
    [[nodiscard]] std::uint32_t draw_id() { return next_id_++; }

  private:
    static constexpr std::size_t kChunksMax = 32;

    struct Asked {
        std::uint32_t id = 0;
        Rank peer;
        BlockIndex block;
        std::array<std::uint16_t, kChunksMax> chunks{};
        std::uint8_t left = 0;
        std::uint8_t given = 0;  ///< Chunks that arrived, from any member.
        bool has_given = false;  ///< Its peer sent something.
        /// Its chunks were requested anew; the answer still counts.
        bool is_replaced = false;
        Instant sent_at{};
        Instant expires_at{};
    };

    void on_answer(Instant now, Asked& asked);
    void on_first_sample();
    [[nodiscard]] std::optional<std::uint32_t> missing_near_end(const ChunkMap& map) const;
    [[nodiscard]] bool should_ask_anew(const ChunkMap& map);
    [[nodiscard]] std::uint64_t trip_chunks() const;
    void ask_anew(Instant now, ChunkMap& map);
    void move(const wire::ChunkRun& run, Asked& asked, Asked& refused);
    void expire(Instant now, ChunkMap& map);
    void give_back(const Asked& asked, OpenBlock& open) const;
    void avoid(const Asked& asked, OpenBlock& open) const;
    void pause(Instant now, unsigned rounds, OpenBlock& open) const;
    void fail(Instant now, const Asked& asked, OpenBlock& open, bool was_silent);
    void on_busy(Instant now, const Asked& asked, OpenBlock& open);
    void end(std::size_t index);
    [[nodiscard]] static bool remove(Asked& asked, std::uint32_t chunk);

    [[nodiscard]] std::uint32_t wanted_below(const OpenBlock& open, Position settled) const;
    [[nodiscard]] bool ask_block(Instant now,
                                 OpenBlock& open,
                                 std::uint32_t below,
                                 ControlQueue& out);
    void ask(Instant now, OpenBlock& open, Asked asked, ControlQueue& out);
    void gather(const OpenBlock& open, std::uint32_t below, Asked& asked) const;
    [[nodiscard]] Rank choose(Instant now,
                              const OpenBlock& open,
                              const Asked& asked,
                              std::span<const Rank> chosen);
    void gather_share(Instant now, const OpenBlock& open, Asked& asked) const;
    [[nodiscard]] Duration swarm_start() const;
    [[nodiscard]] bool is_share_owner(Instant now, Rank peer) const;
    [[nodiscard]] Rank choose_of_swarm(Instant now, const OpenBlock& open, const Asked& asked);
    [[nodiscard]] Rank share_owner(Instant now, BlockIndex block, std::uint32_t chunk) const;
    [[nodiscard]] bool is_source_busy() const;
    [[nodiscard]] bool has_room(Instant now);
    [[nodiscard]] std::uint32_t doublings(const OpenBlock& open) const;
    [[nodiscard]] std::uint32_t copies(BlockIndex block) const;
    [[nodiscard]] Duration turn() const;
    [[nodiscard]] Duration timeout(std::uint32_t failures, bool is_urgent) const;
    [[nodiscard]] std::uint32_t window() const;
    [[nodiscard]] Duration gather_time() const;
    [[nodiscard]] Duration answer_time() const;
    void look_again(Instant at) { look_at_ = look_at_ ? std::min(*look_at_, at) : at; }

    void pace_alone(Instant now);
    void grow_alone(Instant now);
    void shrink_alone(Instant now);
    [[nodiscard]] std::uint32_t alone_window() const;
    [[nodiscard]] std::uint32_t request_max() const;
    [[nodiscard]] unsigned failures_max() const;

    [[nodiscard]] std::uint64_t stream_share() const;
    [[nodiscard]] bool has_link(Instant now) const;
    void follow_rate(Instant now);
    void set_rate(std::uint64_t bytes_per_s);
    void search_rate(Instant now, const Asked& ended);

    RepairLimits limits_;
    RateLimits rate_limits_;
    std::uint32_t packet_bytes_;
    bool is_configured_;
    bool is_stream_known_ = false;
    std::uint64_t least_rate_;
    std::uint64_t rate_;
    RepairRateSearch search_;
    std::uint64_t followed_ = 0;        ///< The stream's rate that set rate_ last.
    std::optional<Instant> stream_at_;  ///< When a packet of the stream last arrived.
    Pacer pacer_;
    PeerChoice peers_;
    RttEstimator round_trip_;
    bool is_swarm_ = false;
    std::optional<Instant> swarm_since_;
    bool is_ended_ = false;
    bool is_endgame_ = false;
    /// In the end-game: chunks missing when they were last requested anew.
    std::uint32_t missing_ = 0;
    std::uint32_t next_id_ = 1;
    std::uint32_t in_flight_ = 0;  ///< Chunks.
    std::uint32_t alone_first_;
    std::uint64_t alone_rate_ = 0;
    std::optional<CubicWindow> alone_;  ///< Set while this member is outside the group.
    std::vector<Asked> asked_;
    SpuriousTimeouts late_;
    /// The next look is not earlier, unless something happened.
    Instant next_look_ = kLongAgo;
    std::optional<Instant> look_at_;  ///< Something is missing: look for it then.
};

}  // namespace stage::core
