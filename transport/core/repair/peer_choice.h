// Whom does a member ask?
//
// Anybody, at random: under independent loss nearly everyone has what one misses, and chance is
// the most robust to dead neighbours and to a switch that lost the same packet for all behind
// it. Or, if the site wants that, the neighbour in the ring of ranks, as T. Hoefler, C. Siebert
// and W. Rehm, "A practically constant-time MPI broadcast algorithm for large-scale InfiniBand
// clusters with multicast" (IPDPS 2007) have it. Who let a request time out is left alone for a
// while. Of those drawn at random who lacked what it was asked for last is taken only if no
// other is met: where many hold the object already these can give nothing, ever.
#pragma once

#include "transport/base/prng.h"
#include "transport/base/units.h"
#include "transport/core/base/chunk_set.h"
#include "transport/core/base/contract.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace stage::core {

class PeerChoice {
  public:
    static constexpr std::size_t kSuspects = 32;  ///< The oldest is forgiven.

    /// `prng` must outlive this.
    PeerChoice(const CoreConfig& config, Prng& prng)
        : own_{config.own},
          source_{config.source},
          members_{config.members},
          policy_{config.peer_policy},
          prng_{prng},
          lacking_{config.members},
          given_{config.members} {}

    /// Somebody to ask who is not in `avoid`, nor suspect, nor (unless `ask_source`) the
    /// source. If a few draws find none: the source if it may be asked, else one who is
    /// suspect, if any.
    [[nodiscard]] Rank draw(Instant now, std::span<const Rank> avoid, bool ask_source);

    void on_timeout(Instant now, Rank peer);
    void on_answer(Rank peer);
    /// It lacked what it was asked for; it gave something.
    void on_lacking(Rank peer) {
        if (peer.value() < members_) {
            lacking_.add(peer.value());
        }
    }
    void on_given(Rank peer) {
        lacking_.remove(peer.value());
        given_.add(peer.value());
    }
    /// When it was asked last.
    [[nodiscard]] bool has_lacked(Rank peer) const { return lacking_.has(peer.value()); }
    /// Anything, ever.
    [[nodiscard]] bool has_given(Rank peer) const { return given_.has(peer.value()); }

    [[nodiscard]] Rank own() const { return own_; }
    [[nodiscard]] Rank source() const { return source_; }
    [[nodiscard]] std::uint16_t members() const { return members_; }
    [[nodiscard]] Prng& prng() { return prng_; }

  private:
    struct Suspect {
        Rank peer;
        std::uint8_t strikes = 0;  ///< 0: free.
        Instant until{};
    };

    [[nodiscard]] bool is_suspect(Instant now, Rank peer) const;
    [[nodiscard]] Rank candidate(std::uint32_t draw);

    Rank own_;
    Rank source_;
    std::uint16_t members_;
    PeerPolicy policy_;
    Prng& prng_;
    ChunkSet lacking_;  ///< Ranks: who lacked something when it was asked last.
    ChunkSet given_;    ///< Likewise: who gave something.
    std::array<Suspect, kSuspects> suspects_{};
    std::size_t next_suspect_ = 0;
};

}  // namespace stage::core
