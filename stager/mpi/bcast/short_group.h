// Multicasts the short messages of a communicator, without waiting for any member.
//
// What is lost is not repaired here: each message goes by the ring, too (short_ring.h). Its
// datagrams and keys are apart from those of the sessions that carry long messages.
#pragma once

#include "stager/mpi/bcast/short_datagrams.h"
#include "stager/mpi/bcast/short_window.h"
#include "transport/seal/cipher.h"

#include <memory>
#include <vector>

namespace stage {

struct ShortConfig {
    seal::GroupKey key{};
    seal::SessionId session{};
    std::vector<seal::Incarnation> members;
    Rank rank;  ///< This member's.
};

class ShortGroup {
  public:
    ShortGroup(ShortConfig config, std::unique_ptr<ShortDatagrams> datagrams);

    /// Multicasts the message of a call, of 1 to kShortBytes bytes.
    void send(std::uint64_t call, Bytes message);
    /// Reads what has arrived. Returns the message of `call` once it is whole, until then
    /// nothing. Valid until the next call.
    [[nodiscard]] Bytes receive(std::uint64_t call, Rank source, std::size_t length);

  private:
    [[nodiscard]] seal::PacketCipher cipher_of(Rank member,
                                               seal::PacketCipher::Direction direction) const;
    /// False: nothing was there.
    bool read_packet();
    [[nodiscard]] bool opens(const ShortHeader& header, MutableBytes packet);

    ShortConfig config_;
    std::uint32_t mark_;
    std::unique_ptr<ShortDatagrams> datagrams_;
    seal::PacketCipher own_;
    std::vector<std::unique_ptr<seal::PacketCipher>> senders_;  ///< For senders heard so far.
    ShortWindow window_;
};

}  // namespace stage
