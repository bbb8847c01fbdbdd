// Reconstructs missing chunks of a small object from its parities.
//
// Parities are placed into a buffer of their own, as one more block after the object's last. As
// soon as there are as many parities as chunks are missing, the missing chunks are
// reconstructed, and verified as if they had arrived. If there are too few, the rest is
// requested from peers; a repaired chunk counts like one that arrived. Nothing is requested
// until the last parity or END.
#pragma once

#include "transport/core/receiver/reassembly.h"

#include <memory>
#include <optional>

namespace stage::core {

class Reconstruction {
  public:
    explicit Reconstruction(const CoreConfig& config) : config_{config} {}

    /// The object has `blocks` blocks, followed by this number of parities.
    void begin(std::uint32_t blocks, std::uint8_t parities);

    /// True if the first pass ends in parities.
    [[nodiscard]] bool is_expected() const { return parities_ > 0; }
    [[nodiscard]] bool is_parity(const wire::Header& header) const {
        return header.block.value() == blocks_ && is_expected();
    }
    [[nodiscard]] bool is_last(const wire::Header& header) const {
        return is_parity(header) && header.chunk.value() + 1U == parities_;
    }

    /// Queues `place` or `drop`.
    void on_parity(const Datagram& datagram, Reassembly& reassembly);
    /// Reconstructs once, if that is possible. True if it did.
    bool poll(Reassembly& reassembly);

  private:
    [[nodiscard]] bool accept(const Datagram& datagram, Reassembly& reassembly);
    /// Adds a missing or received symbol to `code`. False if it cannot be reconstructed now.
    [[nodiscard]] bool note_missing(Reassembly& reassembly,
                                    BlockIndex block,
                                    std::uint32_t symbol,
                                    ParityCode& code) const;
    [[nodiscard]] std::optional<ParityCode> missing(Reassembly& reassembly) const;
    void close(Reassembly& reassembly);

    CoreConfig config_;
    std::uint32_t blocks_ = 0;
    std::uint16_t parities_ = 0;
    std::uint32_t parity_bytes_ = 0;  ///< The length of each parity that arrived.
    ChunkSet have_;
    std::unique_ptr<const ParityCode> code_;  ///< The reconstruction that was performed.
    bool is_closed_ = false;
};

}  // namespace stage::core
