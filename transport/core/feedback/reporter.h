// What does a receiver tell the source about itself, and how often?
//
// A representative (at most so many, spread evenly over the ranks) reports every few packets or
// milliseconds how the stream arrived and what is newly missing: from that the source sees what
// all of them lost, how far the first pass may run ahead and, if no rate was told, how fast.
// Often while a stream is young; later so rarely that the source can hear them all. Everybody
// else reports only so often that silence means something. Nobody reports who holds everything.
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

/// Is this member one of the group's representatives? By arithmetic: nobody has to be told.
[[nodiscard]] bool is_representative(const CoreConfig& config,
                                     std::uint16_t representatives,
                                     Rank rank);
/// How many there are.
[[nodiscard]] std::uint32_t representatives_of(const CoreConfig& config,
                                               std::uint16_t representatives);

class Reporter {
  public:
    Reporter(const CoreConfig& config, const FeedbackLimits& limits, Prng& prng);

    /// A multicast packet of the source arrived.
    void on_packet(Instant now, const Datagram& datagram) {
        arrivals_.on_packet(now, datagram);
    }
    [[nodiscard]] const ArrivalLog& arrivals() const { return arrivals_; }

    /// `placed`: chunks that came to their places so far.
    void poll(Instant now,
              const HighestReceived& frontier,
              const ChunkMap& map,
              std::uint32_t placed,
              ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline(const ChunkMap& map) const;
    /// So little comes that nobody learns from how it came.
    void be_rare() {
        is_representative_ = false;
        gap_ = heartbeat_;
        phase_ = heartbeat_;
        if (next_at_) {
            next_at_ = reported_at_ + heartbeat_;
        }
    }
    /// This member hears the stream no more, or hears it again: there is little to tell.
    void set_away(bool is_away) { is_away_ = is_away; }
    /// Nothing to report any more.
    void stop() { next_at_.reset(); }

  private:
    [[nodiscard]] Duration interval() const;
    [[nodiscard]] std::optional<Instant> due_at(const ChunkMap& map) const;
    void add_missing(const Position& settled, const ChunkMap& map, wire::Report& report);
    [[nodiscard]] static std::uint32_t add_missing_of(const OpenBlock& open,
                                                      std::uint32_t from,
                                                      std::uint32_t below,
                                                      wire::Report& report);

    FeedbackLimits limits_;
    Rank source_;
    bool is_representative_;
    bool is_away_ = false;
    Duration heartbeat_;
    Duration gap_;
    std::uint32_t blocks_step_;
    std::optional<Instant> next_at_;
    Instant reported_at_{};
    Position reported_;  ///< What was missing before it has been told.
    std::uint32_t reported_held_ = 0;
    ArrivalLog arrivals_;
    std::uint32_t representatives_;
    Duration phase_;
};

}  // namespace stage::core
