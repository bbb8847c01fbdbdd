// Sends a receiver's REPORTs: what it says about itself, and how often.
//
// A representative (one of a bounded number of receivers: representatives.h) reports every
// few packets or milliseconds how the stream arrived and which chunks are newly missing. From
// that the source learns which losses are shared, how far the first pass may run ahead and,
// without a configured rate, the rate. Reports are frequent while a stream is young, and later
// rare enough that the source can receive them all. Other receivers report only as often as
// silence must mean something. A receiver that holds the object does not report.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/chunk_map.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/highest_received.h"
#include "transport/core/base/limits.h"
#include "transport/core/feedback/arrival_log.h"
#include "transport/core/sending/control_queue.h"

#include <optional>

namespace stage::core {

class Reporter {
  public:
    Reporter(const CoreConfig& config, const FeedbackLimits& limits, Prng& prng);

    /// A multicast packet of the source arrived.
    void on_packet(Instant now, const Datagram& datagram) {
        arrivals_.on_packet(now, datagram);
    }
    [[nodiscard]] const ArrivalLog& arrivals() const { return arrivals_; }

    /// The source named the representatives.
    void on_named(Instant now, const wire::Representatives& named);

    /// `placed`: chunks placed so far.
    void poll(Instant now,
              const HighestReceived& highest_received,
              const ChunkMap& map,
              std::uint32_t placed,
              ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline(const ChunkMap& map) const;
    /// The object is so small that its arrival says nothing: this member reports rarely.
    void be_rare() {
        is_rare_ = true;
        is_representative_ = false;
        gap_ = heartbeat_;
        phase_ = heartbeat_;
        if (next_at_) {
            next_at_ = reported_at_ + heartbeat_;
        }
    }
    /// Multicast does not reach this member, which then has little to report, or does again.
    void set_away(bool is_away) { is_away_ = is_away; }
    /// Stops reporting.
    void stop() { next_at_.reset(); }

  private:
    [[nodiscard]] Duration draw_phase();
    [[nodiscard]] Duration interval() const;
    [[nodiscard]] std::optional<Instant> due_at(const ChunkMap& map) const;
    void add_missing(const Position& settled, const ChunkMap& map, wire::Report& report);
    [[nodiscard]] static std::uint32_t add_missing_of(const OpenBlock& open,
                                                      std::uint32_t from,
                                                      std::uint32_t below,
                                                      wire::Report& report);

    FeedbackLimits limits_;
    Rank own_;
    Rank source_;
    Prng& prng_;
    bool is_representative_;
    bool is_rare_ = false;
    std::uint16_t version_ = 0;  ///< The version of the set that the source named last.
    bool is_away_ = false;
    Duration heartbeat_;
    Duration gap_;
    std::uint32_t blocks_step_;
    std::optional<Instant> next_at_;
    Instant reported_at_{};
    Position reported_;  ///< What is missing before it has been reported.
    std::uint32_t reported_held_ = 0;
    ArrivalLog arrivals_;
    std::uint32_t representatives_;
    Duration phase_;
};

}  // namespace stage::core
