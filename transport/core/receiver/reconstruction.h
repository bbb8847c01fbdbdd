// What does a receiver make of parities?
//
// They are placed into a buffer of their own, as one more block after the object's last. As
// soon as they and the chunks that came are enough, what is missing is reconstructed, and
// verified as if it had come. Where they are too few the rest is pulled; a chunk pulled counts
// as one that came. Until the last parity, or END, nothing is asked for.
#pragma once

#include "transport/core/receiver/reassembly.h"

#include <memory>
#include <optional>

namespace stage::core {

class Reconstruction {
  public:
    explicit Reconstruction(const CoreConfig& config) : config_{config} {}

    /// The object has `blocks`, and so many parities follow them.
    void begin(std::uint32_t blocks, std::uint8_t parities);

    /// The first pass ends in parities.
    [[nodiscard]] bool is_expected() const { return parities_ > 0; }
    [[nodiscard]] bool is_parity(const wire::Header& header) const {
        return header.block.value() == blocks_ && is_expected();
    }
    [[nodiscard]] bool is_last(const wire::Header& header) const {
        return is_parity(header) && header.chunk.value() + 1U == parities_;
    }

    /// Orders place or drop.
    void on_parity(const Datagram& datagram, Reassembly& intake);
    /// Reconstructs, if it is possible and nobody did. True if it did.
    bool poll(Reassembly& intake);

  private:
    [[nodiscard]] bool accept(const Datagram& datagram, Reassembly& intake);
    /// What there is and what isn't; nothing if it can't be reconstructed now.
    [[nodiscard]] bool note_missing(Reassembly& intake,
                                    BlockIndex block,
                                    std::uint32_t symbol,
                                    ParityCode& code) const;
    [[nodiscard]] std::optional<ParityCode> missing(Reassembly& intake) const;
    void close(Reassembly& intake);

    CoreConfig config_;
    std::uint32_t blocks_ = 0;
    std::uint16_t parities_ = 0;
    std::uint16_t parity_bytes_ = 0;  ///< Of each that came.
    ChunkSet have_;
    std::unique_ptr<const ParityCode> code_;  ///< What was reconstructed.
    bool is_closed_ = false;
};

}  // namespace stage::core
