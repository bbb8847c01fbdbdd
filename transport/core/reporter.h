// What does a receiver tell the source about itself, and how often?
//
// A representative (at most so many, spread evenly over the ranks) reports every few
// milliseconds what arrived and what is newly missing: from that the source sees what all of
// them lost, how far the first pass may run ahead and, if no rate was told, how fast. Everybody
// else reports only so often that silence means something. Nobody reports who holds everything.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/chunk_map.h"
#include "transport/core/contract.h"
#include "transport/core/control_queue.h"
#include "transport/core/frontier.h"
#include "transport/core/limits.h"

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

    /// A packet of the source arrived.
    void on_source_packet(std::uint64_t packet_number, bool to_group);
    /// An OFFER said the source's time.
    void on_source_time(Instant now, std::uint64_t source_time_us);

    void poll(Instant now, const Frontier& frontier, const ChunkMap& map, ControlQueue& out);
    [[nodiscard]] std::optional<Instant> deadline() const { return next_at_; }
    /// Nothing to report any more.
    void stop() { next_at_.reset(); }

  private:
    [[nodiscard]] wire::Report build(Instant now, const ChunkMap& map);
    void add_missing(const Position& settled, const ChunkMap& map, wire::Report& report);
    [[nodiscard]] static std::uint32_t add_missing_of(const OpenBlock& open,
                                                      std::uint32_t from,
                                                      std::uint32_t below,
                                                      wire::Report& report);

    FeedbackLimits limits_;
    Rank source_;
    bool is_representative_;
    Duration heartbeat_;
    Duration gap_;
    std::uint32_t blocks_step_;
    std::optional<Instant> next_at_;
    Instant reported_at_{};
    Position reported_;  ///< What was missing before it has been told.
    std::uint32_t reported_held_ = 0;
    std::uint64_t highest_ = 0;
    std::uint64_t reported_highest_ = 0;
    std::uint32_t received_ = 0;
    std::uint64_t source_time_us_ = 0;
    Instant source_time_heard_{};
    Duration phase_;
};

}  // namespace stage::core
