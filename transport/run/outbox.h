// Turns a core's sends into sealed trains.
//
// Each Send becomes a train, and small trains leave together. With protection `encrypt`,
// header, sealed payload and tag are written into one buffer, directly from the block's.
// Otherwise only headers and tags are, and payloads are pieces of the block's own buffer, which
// the kernel gathers. A train that the driver refuses stays as it is, numbers included, and is
// offered again: a packet number is never used twice, so nothing is sealed twice.
//
// Trains to the group use the flows that leave this host in turn. The first pass, its
// retransmissions and each type of control packet take turns by themselves: if one flow has
// failed, a control packet that is repeated takes another, whatever is sent meanwhile. A full
// outlet holds up no other: it keeps the trains that it refused, control packets to single
// members overtake them, and the flows of other outlets carry what is to go to the group. What
// an outlet has refused for kStuck is lost, and so is what it is offered from then on, until it
// takes a train again.
#pragma once

#include "transport/core/base/contract.h"
#include "transport/fabric/driver.h"
#include "transport/run/object/block_store.h"
#include "transport/seal/session_seal.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace stage {

class Outbox {
  public:
    static constexpr Duration kStuck = std::chrono::milliseconds{250};

    /// All three must outlive the outbox. `config` gives rank, session and the largest chunk.
    /// `flows`: the number of flows that trains to the group use in turn.
    Outbox(Driver& driver,
           seal::SessionSeal& seal,
           BlockStore& blocks,
           const core::CoreConfig& config,
           std::uint8_t flows = 1);

    /// Takes over a batch whose DATA has chunks of `chunk_bytes`. Its blocks must stay resident
    /// while needs() says so.
    void add(core::SendBatch&& batch, std::uint32_t chunk_bytes);
    /// True if the outlets have kept up with what was added.
    [[nodiscard]] bool has_room() const;

    /// Sends what is queued, as far as the driver takes it.
    Status flush(Instant now);
    /// The outlets that refused a train: bit k for the driver's k-th.
    [[nodiscard]] std::uint32_t full_outlets() const;
    [[nodiscard]] bool is_empty() const;
    /// True if queued or refused trains still need this block's buffer.
    [[nodiscard]] bool needs(BlockIndex block) const;
    /// DATA that has not left counts as lost: all of it, or of one block.
    void drop_data(std::optional<BlockIndex> block = {});

  private:
    /// A sealed train, refused or about to be sent.
    struct Sealed {
        TrainTarget target;
        std::optional<BlockIndex> block;  ///< The block that its DATA lies in.
        std::size_t first_piece = 0;
        std::size_t pieces = 0;
        std::size_t bytes = 0;
        std::uint32_t packet_bytes = 0;
        std::size_t packets_sent = 0;  ///< See Train.
    };
    /// Trains of one outlet that are offered together.
    struct Batch {
        /// The parts of trains that are not in a block's buffer; never moves.
        std::vector<std::byte> room;
        std::vector<Bytes> pieces;  ///< Pieces of room and of blocks, as they leave.
        std::deque<Sealed> trains;
        bool is_open = true;  ///< Nothing of it was refused yet: more trains may be added.
        /// A train did not fit, so that no later one may be added before it.
        bool is_full = false;

        void add_piece(Bytes piece);
        void clear();
    };
    struct Outlet {
        Batch trains;
        Batch overtaking;  ///< Control packets, while DATA in `trains` was refused.
        std::optional<Instant> refused_since;
        bool is_stuck = false;
    };
    struct Queued {
        core::Send send;
        std::uint16_t sealed = 0;  ///< Packets of it that are in trains already.
    };

    static constexpr std::size_t kTurns = 16;  ///< One for each number of four bits.

    [[nodiscard]] static std::size_t turn_of(const core::Send& send);
    [[nodiscard]] std::size_t packet_bytes_max() const;
    void use_chunks_of(std::uint32_t bytes);
    [[nodiscard]] std::size_t next_bytes_max(const Queued& next) const;
    bool build_trains();
    bool build_train(Queued& next);
    void fill_train(Batch& batch, Queued& next);
    [[nodiscard]] Outlet& outlet_of(const TrainTarget& target);
    [[nodiscard]] Batch* batch_for(const TrainTarget& target, const Queued& next);
    [[nodiscard]] Batch* take_flow(TrainTarget& target, const Queued& next);
    [[nodiscard]] bool leaves(const TrainTarget& target);
    [[nodiscard]] bool any_leaves();
    Status offer(Outlet& outlet, Instant now);
    Status offer(Batch& batch);
    static void judge(Outlet& outlet, const Batch& batch, std::size_t before, Instant now);
    void write_packet(Batch& batch, const core::Send& send, std::uint16_t index, Bytes body);
    [[nodiscard]] Bytes payload(const core::Send& send, std::uint16_t index);

    Driver& driver_;
    seal::SessionSeal& seal_;
    BlockStore& blocks_;
    core::CoreConfig config_;
    std::uint32_t chunk_bytes_ = 0;
    std::size_t train_packets_max_ = 1;
    std::uint8_t flows_;
    std::array<std::uint8_t, kTurns> next_flow_{};  ///< By turn_of().

    std::deque<Queued> queue_;
    std::vector<Outlet> outlets_;  ///< The driver's.
};

}  // namespace stage
