// The numbers by which a listener knows its connections without remembering who asked.
//
// As a SYN cookie (RFC 4987, 3.6): the number is a keyed hash of the dialler's address and
// number. Only who received the WELCOME can send it back, so a host with a forged address makes
// this one remember nothing.
#pragma once

#include "transport/base/address.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace stage::hop {

class ListenerNumbers {
  public:
    using Secret = std::array<std::byte, 32>;

    explicit ListenerNumbers(const Secret& secret) : secret_{secret} {}

    [[nodiscard]] std::uint64_t of(const Address& dialler, std::uint64_t number) const;

  private:
    Secret secret_;
};

}  // namespace stage::hop
