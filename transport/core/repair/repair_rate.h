// Decides at which rate repairs may arrive at a member of the group.
//
// That is the configured rate, or nine tenths of what the source's stream shows, or what the
// search finds (repair_rate_search.h). Beside the stream repairs get a small share of it.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/repair/repair_rate_search.h"
#include "transport/core/repair/repair_requests.h"

#include <cstdint>
#include <optional>

namespace stage::core {

/// How fast the source's packets arrive, headers included.
struct StreamRate {
    std::uint64_t bytes_per_s = 0;  ///< 0: not known.
    /// The stream never paused meanwhile. If it did, because it waited for its window or its
    /// disk, the path takes more than this, and perhaps much more.
    bool is_steady = true;
};

class RepairRate {
  public:
    RepairRate(const CoreConfig& config, const Limits& limits);

    [[nodiscard]] std::uint64_t bytes_per_s() const { return rate_; }
    /// The part of the rate that repairs may have now: a share beside the stream, or all.
    [[nodiscard]] std::uint64_t part_bytes_per_s(Instant now) const {
        return has_link(now) ? rate_ : share_bytes_per_s();
    }
    /// The share that repairs may have beside the stream.
    [[nodiscard]] std::uint64_t share_bytes_per_s() const;

    /// The first pass is over: the whole link is free for repairs.
    void on_end() { is_ended_ = true; }
    [[nodiscard]] bool is_ended() const { return is_ended_; }
    /// A packet of the first pass arrived.
    void on_stream_packet(Instant now) { stream_at_ = now; }
    void on_stream(Instant now, const StreamRate& stream);

    /// A request leaves, and nothing else is in flight.
    void on_first_request(Instant now) { search_.on_ask_anew(now); }
    /// A requested chunk arrived.
    void on_arrival(Instant now) { search_.on_arrival(now); }
    /// The request was answered or timed out.
    void on_request_end(Instant now, const RepairRequest& ended);

  private:
    [[nodiscard]] bool has_link(Instant now) const;
    void set(std::uint64_t bytes_per_s);

    RateLimits limits_;
    Duration stream_pause_;
    std::uint32_t share_percent_;
    bool is_configured_;
    std::uint64_t least_;  ///< Bytes per second.
    std::uint64_t rate_;
    RepairRateSearch search_;
    bool is_stream_known_ = false;
    std::uint64_t followed_ = 0;        ///< The stream's rate that set `rate_` last.
    std::optional<Instant> stream_at_;  ///< When a packet of the stream last arrived.
    bool is_ended_ = false;
};

}  // namespace stage::core
