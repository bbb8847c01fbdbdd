// Requests missing chunks from peers.
//
// It requests a few chunks of one block at a time, no faster than its own link takes the
// answers. The parts answer one question each: which requests wait for answers
// (repair_requests.h), how fast answers may come (repair_rate.h), which peer is asked and how
// much may be in flight in the group (group_repair.h), outside it (fetch_window.h) and where
// all members are outside it (scatter_repair.h), when each chunk is requested from several
// peers (end_game.h), what follows from a failed request (block_failures.h), and when the next
// look for missing chunks is (look_schedule.h).
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/chunk_map.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/base/repeater.h"
#include "transport/core/repair/block_failures.h"
#include "transport/core/repair/end_game.h"
#include "transport/core/repair/fetch_window.h"
#include "transport/core/repair/group_repair.h"
#include "transport/core/repair/look_schedule.h"
#include "transport/core/repair/peer_choice.h"
#include "transport/core/repair/repair_rate.h"
#include "transport/core/repair/repair_requests.h"
#include "transport/core/repair/scatter_repair.h"
#include "transport/core/repair/spurious_timeouts.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/pacer.h"
#include "transport/core/sending/rtt_estimator.h"

#include <algorithm>
#include <optional>
#include <span>

namespace stage::core {

class Puller {
  public:
    /// `prng` must outlive this.
    Puller(const CoreConfig& config, const Limits& limits, Prng& prng);

    /// The first pass is over: the whole link is free for repairs.
    void on_end(Instant now);

    /// Multicast does not reach this member, which fetches the whole object. Its repairs share
    /// its path with other flows as TCP does, and are no faster than this. 0: multicast reaches
    /// it again.
    void set_alone(Instant now, std::uint64_t bytes_per_s);
    /// Multicast reaches neither this member nor most others, so all fetch the object from each
    /// other (scatter/allgather repair).
    void set_swarm(bool is_swarm) { is_swarm_ = is_swarm; }
    /// The members do so, and the source sends nothing to the group any more.
    [[nodiscard]] bool is_swarm() const {
        return is_swarm_ && fetch_.is_outside() && rate_.is_ended();
    }
    /// The source's packets arrive at this rate, so the link takes answers as fast.
    void on_stream(Instant now, const StreamRate& stream);
    /// A packet of the first pass arrived.
    void on_stream_packet(Instant now) { rate_.on_stream_packet(now); }
    /// A requested chunk arrived, from the asked peer or another.
    void on_arrival(Instant now, Rank from, OpenBlock& open, std::uint32_t chunk);
    /// `is_busy`: the peer may have the chunks, but has no room to answer now.
    void on_lacking(
        Instant now, Rank from, const wire::Request& lacking, bool is_busy, ChunkMap& map);
    /// The block is closed: its requests end.
    void forget(BlockIndex block) { requests_.forget(block); }

    /// More chunks may be missing: look for them soon, or at once.
    void look(Instant now, bool at_once = false) {
        at_once ? looks_.look_at_once(now) : looks_.look(now);
    }
    /// Expires requests, then requests missing chunks before `settled`.
    void poll(Instant now, Position settled, ChunkMap& map, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const {
        return earlier(looks_.deadline(), requests_.deadline());
    }

    /// The rate at which answers may arrive: the configured one, or the one that the search
    /// found.
    [[nodiscard]] std::uint64_t rate_bytes_per_s() const {
        return fetch_.is_outside() ? std::max(rate_.bytes_per_s(), pacer_.rate_bytes_per_s())
                                   : rate_.bytes_per_s();
    }
    /// The time that this number of bytes takes at that rate.
    [[nodiscard]] Duration time_of(std::uint64_t bytes) const {
        return stage::time_of(bytes, rate_.bytes_per_s());
    }
    /// The least allowance for late answers, because peers wake late.
    [[nodiscard]] Duration margin() const {
        return std::min(limits_.timeout_margin_min, time_of(kBlockBytes));
    }
    [[nodiscard]] const RttEstimator& round_trip() const { return round_trip_; }
    [[nodiscard]] PeerChoice& peers() { return peers_; }
    [[nodiscard]] std::uint32_t draw_id() { return requests_.draw_id(); }

  private:
    void on_answer(Instant now, RepairRequest& request);
    void end(Instant now, const RepairRequest& ended);
    void fail(Instant now,
              const RepairRequest& failed,
              BlockFailures::Kind kind,
              OpenBlock& open);
    void expire(Instant now, ChunkMap& map);
    void request_anew(Instant now, ChunkMap& map);

    [[nodiscard]] bool ask_block(Instant now,
                                 OpenBlock& open,
                                 std::uint32_t below,
                                 ControlQueue& out);
    [[nodiscard]] RepairRequest gather(Instant now, const OpenBlock& open, std::uint32_t below);
    [[nodiscard]] bool is_own_share(const RepairRequest& request) const {
        return is_swarm() && scatter_.is_own(request, peers_);
    }
    void ask(Instant now, OpenBlock& open, RepairRequest request, ControlQueue& out);
    [[nodiscard]] Rank choose(Instant now,
                              const OpenBlock& open,
                              const RepairRequest& request,
                              std::span<const Rank> chosen);

    void set_pace(Instant now);
    [[nodiscard]] bool has_room(Instant now);
    [[nodiscard]] std::uint32_t window() const;
    [[nodiscard]] std::uint32_t request_max() const;
    [[nodiscard]] std::uint64_t bytes_of(std::uint64_t chunks) const {
        return chunks * packet_bytes_;
    }

    /// What a whole request takes at this member's rate, and so at its peers': an answer may
    /// have to wait for another member's.
    [[nodiscard]] Duration turn() const {
        return time_of(bytes_of(limits_.request_chunks_max));
    }
    [[nodiscard]] Duration timeout(BlockIndex block, std::uint32_t failures = 0) const;
    [[nodiscard]] Duration hasty_timeout(std::uint32_t failures = 0) const;
    [[nodiscard]] Duration gather_time() const;
    [[nodiscard]] Duration answer_time() const;
    void wait_for_room(Instant now);

    RepairLimits limits_;
    std::uint32_t packet_bytes_;
    RepairRate rate_;
    Pacer pacer_;
    PeerChoice peers_;
    RttEstimator round_trip_;
    RepairRequests requests_;
    SpuriousTimeouts late_;
    BlockFailures failures_;
    GroupRepair group_;
    FetchWindow fetch_;
    bool is_swarm_ = false;
    ScatterRepair scatter_;
    EndGame end_game_;
    LookSchedule looks_;
};

}  // namespace stage::core
