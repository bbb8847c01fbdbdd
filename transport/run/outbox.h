// Turns a core's sends into sealed trains.
//
// Each Send becomes a train, and small trains leave together. With protection `encrypt`,
// header, sealed payload and tag are written into one buffer, directly from the block's.
// Otherwise only headers and tags are, and payloads are pieces of the block's own buffer, which
// the kernel gathers. A train that the driver refuses stays as it is, numbers included, and is
// offered again: a packet number is never used twice, so nothing is sealed twice. Trains to the
// group use the flows that leave this host in turn, retransmissions included: if one flow is
// dead, the retransmission takes another.
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
    /// `flows`: the number of flows that trains to the group use in turn.
    Outbox(Driver& driver,
           seal::SessionSeal& seal,
           BlockStore& blocks,
           const core::CoreConfig& config,
           std::uint8_t flows = 1);

    /// Takes over a batch whose DATA has chunks of `chunk_bytes`. Its blocks must stay resident
    /// until flush() has reported that all of it left.
    void add(core::SendBatch&& batch, std::uint32_t chunk_bytes);

    /// Sends what is queued, as far as the driver takes it.
    Result<Sent> flush();
    [[nodiscard]] bool is_empty() const { return queue_.empty() && trains_.empty(); }
    /// True if queued or refused trains still need this block's buffer.
    [[nodiscard]] bool needs(BlockIndex block) const;

  private:
    /// A sealed train, refused or about to be sent.
    struct Sealed {
        TrainTarget target;
        std::optional<BlockIndex> block;  ///< The block that its DATA lies in.
        std::size_t first_piece = 0;
        std::size_t pieces = 0;
        std::size_t bytes = 0;
        std::uint32_t packet_bytes = 0;
    };

    [[nodiscard]] std::size_t packet_bytes_max() const;
    [[nodiscard]] std::size_t room() const { return room_.capacity() - room_.size(); }
    void use_chunks_of(std::uint32_t bytes);
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
    std::uint32_t chunk_bytes_ = 0;
    std::size_t train_packets_max_ = 1;
    std::uint8_t flows_;
    std::uint8_t next_flow_ = 0;

    std::deque<core::Send> queue_;
    std::uint16_t sent_of_front_ =
        0;  ///< Packets of the front entry that left in earlier trains.

    /// The parts of trains that are not in a block's buffer; never moves.
    std::vector<std::byte> room_;
    std::vector<Bytes> pieces_;  ///< Pieces of room_ and of blocks, as they leave.
    std::deque<Sealed> trains_;
};

}  // namespace stage
