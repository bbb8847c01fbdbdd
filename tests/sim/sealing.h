// Would the packet open?
//
// In most worlds the seal is played: a DATA packet opens if its 16-bit number expands to the
// one it was sent with, a control packet once. In some the real one is used, and corruption
// flips a bit.
#pragma once

#include "tests/sim/network.h"
#include "transport/seal/replay_window.h"
#include "transport/seal/session_seal.h"

#include <map>
#include <optional>

namespace stage::sim {

class Sealing {
  public:
    Sealing(const Plan& plan, std::uint16_t rank);

    /// Makes the packet what travels: its body becomes the sealed bytes in a world with seals.
    void seal(Packet& packet);
    /// The header with the whole packet number, and the packet's content and body opened;
    /// nothing if it doesn't open.
    [[nodiscard]] std::optional<Packet> open(const Packet& packet, bool is_corrupt, Prng& prng);

    [[nodiscard]] std::uint64_t refused() const { return refused_; }

  private:
    struct Sender {
        std::uint64_t largest = 0;
        seal::ReplayWindow control;
    };

    [[nodiscard]] std::optional<Packet> open_real(const Packet& packet,
                                                  bool is_corrupt,
                                                  Prng& prng);

    std::map<std::uint16_t, Sender> senders_;
    std::optional<seal::SessionSeal> real_;
    std::uint64_t refused_ = 0;
};

}  // namespace stage::sim
