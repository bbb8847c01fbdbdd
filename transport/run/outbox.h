// How do a core's sends become sealed trains?
//
// Each Send becomes a train, and small trains leave together. Under encrypt header, sealed
// payload and tag are written into one buffer, straight from the block's; otherwise only
// headers and tags are, and the payloads are pieces of the block's own buffer, which the kernel
// gathers. A train that the driver refuses stays as it is, numbers and all, and is offered
// again: a packet number is never used twice, so nothing is ever sealed again. To the group
// each train goes by the next flow that leaves this host, and so does what is sent again: where
// one flow is dead, the second time is by another.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/run/driver.h"
#include "transport/run/object/block_store.h"
#include "transport/seal/session_seal.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace stage {

class Outbox {
  public:
    /// All three must outlive the outbox. `config` gives rank, session and the largest chunk.
    /// What goes to the group goes over `flows`, a train each in turn.
    Outbox(Driver& driver,
           seal::SessionSeal& seal,
           BlockStore& blocks,
           const core::CoreConfig& config,
           std::uint8_t flows = 1);

    /// Takes a batch over, whose DATA is cut in chunks of `chunk_bytes`. Its blocks stay
    /// resident until flush() said that all of it left.
    void add(core::SendBatch&& batch, std::uint16_t chunk_bytes);

    /// Sends what is queued, as far as the driver takes it.
    Result<Sent> flush();
    [[nodiscard]] bool is_empty() const { return queue_.empty() && trains_.empty(); }
    /// What is queued or was refused is still to be cut from this block, or lies in it.
    [[nodiscard]] bool needs(BlockIndex block) const;

  private:
    /// Sealed, refused or about to be sent.
    struct Sealed {
        TrainTarget target;
        std::optional<BlockIndex> block;  ///< Where its DATA lie.
        std::size_t first_piece = 0;
        std::size_t pieces = 0;
        std::size_t bytes = 0;
        std::uint16_t packet_bytes = 0;
    };

    [[nodiscard]] std::size_t packet_bytes_max() const;
    [[nodiscard]] std::size_t room() const { return room_.capacity() - room_.size(); }
    void use_chunks_of(std::uint16_t bytes);
    [[nodiscard]] std::size_t next_bytes_max() const;
    void build_trains();
    void build_train();
    [[nodiscard]] TrainTarget target_of(const core::Send& send);
    [[nodiscard]] Flow take_flow();
    void write_packet(const core::Send& send, std::uint16_t index, Bytes body);
    void add_piece(Bytes piece);
    [[nodiscard]] Bytes payload(const core::Send& send, std::uint16_t index);

    Driver& driver_;
    seal::SessionSeal& seal_;
    BlockStore& blocks_;
    core::CoreConfig config_;
    std::uint16_t chunk_bytes_ = 0;
    std::size_t train_packets_max_ = 1;
    std::uint8_t flows_;
    std::uint8_t next_flow_ = 0;

    std::deque<core::Send> queue_;
    std::uint16_t sent_of_front_ =
        0;  ///< Packets of the front entry that left in earlier trains.

    std::vector<std::byte> room_;  ///< What of the trains is no block's own; never moves.
    std::vector<Bytes> pieces_;    ///< Of room_ and of blocks, as they leave.
    std::deque<Sealed> trains_;
};

}  // namespace stage
