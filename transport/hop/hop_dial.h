// How a connection begins: by UDP and TCP at once, until it is known which one carries it.
//
// HELLOs leave at growing intervals. UDP has won with the first WELCOME. TCP wins if it has
// stood for two RTTs by then, so that a firewall that drops UDP costs no more than that.
#pragma once

#include "transport/base/link_event.h"
#include "transport/base/units.h"
#include "transport/hop/hop_packet.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

namespace stage::hop {

class HopDial {
  public:
    /// A dial without either way ends after this.
    static constexpr Duration kLongest = std::chrono::seconds{3};

    explicit HopDial(Instant now) : begun_at_{now}, hello_at_{now} {}

    /// The sizes of the HELLOs that are due. (The longer one leaves first and alone: if both
    /// arrive it is answered first, and then used.)
    [[nodiscard]] std::span<const std::size_t> take_hellos(Instant now);
    /// What became of the TCP connection.
    void on_tcp(Instant now, const LinkEvent& event);

    enum class Way : std::uint8_t { open, tcp, none };
    [[nodiscard]] Way way(Instant now) const;
    [[nodiscard]] Instant deadline() const;

  private:
    Instant begun_at_;
    Instant hello_at_;
    Duration hello_after_ = std::chrono::milliseconds{20};
    std::optional<Instant> decided_at_;
    bool has_tcp_failed_ = false;
};

}  // namespace stage::hop
