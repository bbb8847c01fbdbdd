// Chooses the peer to which a repair request goes.
//
// By default a random member: under independent loss nearly every member has the missing chunk,
// and a random choice copes best with failed neighbours and with a switch that lost the same
// packet for all members behind it. If the site wants it, the preceding member in the ring of
// ranks, as in T. Hoefler, C. Siebert and W. Rehm, "A practically constant-time MPI broadcast
// algorithm for large-scale InfiniBand clusters with multicast" (IPDPS 2007). A peer that let
// requests time out is not asked for a while. A random peer that lacked what it was last asked
// for is taken only if the draws find no other: where many members hold the object from before,
// they can never give anything.
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
    /// A member that waits for its own share lacks it for a while, and so refuses many times;
    /// one that holds a part of the object from before never gives that part.
    static constexpr std::uint8_t kRefusals = 200;
    static constexpr std::size_t kSuspects = 32;  ///< The oldest is removed for a new one.

    /// `prng` must outlive this.
    PeerChoice(const CoreConfig& config, Prng& prng)
        : own_{config.own},
          source_{config.source},
          members_{config.members},
          policy_{config.policies.peers},
          prng_{prng},
          lacking_{config.members},
          given_{config.members} {}

    /// A peer that is not in `avoid`, not suspect, and (unless `ask_source`) not the source. If
    /// a few draws find none: the source if it may be asked, else a suspect, if there is one.
    [[nodiscard]] Rank draw(Instant now, std::span<const Rank> avoid, bool ask_source) {
        return draw(now, avoid, ask_source, policy_);
    }
    /// Draws always at random, and the source only if a few draws find no other: the
    /// neighbour of a ring may have nothing of what several others have.
    [[nodiscard]] Rank draw_any(Instant now, std::span<const Rank> avoid) {
        return draw(now, avoid, false, PeerPolicy::random);
    }

    void on_timeout(Instant now, Rank peer);
    /// The peer let several requests in a row time out, the last not long ago.
    [[nodiscard]] bool is_suspect(Instant now, Rank peer) const;
    void on_answer(Rank peer);
    /// The peer answered LACKING; the peer sent a chunk.
    void on_lacking(Rank peer) {
        if (peer.value() >= members_) {
            return;
        }
        lacking_.add(peer.value());
        std::uint8_t& refused = refusals_[peer.value() % refusals_.size()];
        if (++refused == kRefusals) {
            refused = 0;
            given_.remove(peer.value());
        }
    }
    void on_given(Rank peer) {
        lacking_.remove(peer.value());
        given_.add(peer.value());
        refusals_[peer.value() % refusals_.size()] = 0;
    }
    /// When the peer was last asked.
    [[nodiscard]] bool has_lacked(Rank peer) const { return lacking_.has(peer.value()); }
    /// The peer sent a chunk, and has not answered LACKING kRefusals times in a row since.
    [[nodiscard]] bool has_given(Rank peer) const { return given_.has(peer.value()); }

    [[nodiscard]] Rank own() const { return own_; }
    [[nodiscard]] Rank source() const { return source_; }
    [[nodiscard]] std::uint16_t members() const { return members_; }
    [[nodiscard]] Prng& prng() { return prng_; }

  private:
    struct Suspect {
        Rank peer;
        std::uint8_t strikes = 0;  ///< Time-outs in a row; 0: not suspect.
        Instant until{};
    };

    [[nodiscard]] Rank draw(Instant now,
                            std::span<const Rank> avoid,
                            bool ask_source,
                            PeerPolicy policy);
    [[nodiscard]] Rank candidate(std::uint32_t draw, PeerPolicy policy);

    Rank own_;
    Rank source_;
    std::uint16_t members_;
    PeerPolicy policy_;
    Prng& prng_;
    ChunkSet lacking_;  ///< Ranks that answered LACKING when they were last asked.
    ChunkSet given_;    ///< Ranks that sent a chunk.
    /// Since the last chunk; of a large group several ranks share one counter.
    std::array<std::uint8_t, 256> refusals_{};
    std::array<Suspect, kSuspects> suspects_{};
    std::size_t next_suspect_ = 0;
};

}  // namespace stage::core
