// Which chunks does a set of parities speak of?
//
// A small object travels with parities (docs/protocol, 6.5): its chunks, in order, are the
// *symbols* of a Reed-Solomon code, each taken as if zeros filled it up to the longest one. Any
// so many of symbols and parities give all symbols. This is the arithmetic of who is who; the
// bytes are the driver's affair (transport/run/object/erasure.h).
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <vector>

namespace stage::core {

/// The code's field has no more.
inline constexpr std::uint32_t kSymbolsAndParitiesMax = 255;

struct ParityLimits;
struct ObjectShape;
struct CoreConfig;

struct ParityCode {
    BlockIndex first;                         ///< Of the blocks covered,
    std::vector<std::uint32_t> wire_lengths;  ///< and the bytes of each as it travels.
    std::uint16_t chunk_bytes = 0;
    std::uint16_t parities = 0;

    /// reconstruct: the symbols that aren't here, rising, and as many parities that are.
    std::vector<std::uint16_t> lost;
    std::vector<std::uint16_t> with;

    struct Symbol {
        BlockIndex block;
        ChunkIndex chunk;
        std::uint16_t bytes = 0;
    };
    [[nodiscard]] std::vector<Symbol> symbols() const;
    /// Of the longest symbol, and so of each parity.
    [[nodiscard]] std::uint16_t symbol_bytes() const;
};

/// How many parities an object of this shape gets; 0 for one that is too large.
[[nodiscard]] std::uint8_t parities_for(const CoreConfig& config,
                                        const ObjectShape& shape,
                                        const ParityLimits& limits);

/// Is it so small that it may go out with its offers, whether anybody is ready or not?
[[nodiscard]] bool may_go_with_offers(const CoreConfig& config,
                                      const ObjectShape& shape,
                                      const ParityLimits& limits);
/// Does it? Where there is no fence.
[[nodiscard]] bool goes_with_offers(const CoreConfig& config,
                                    const ObjectShape& shape,
                                    const ParityLimits& limits);

/// A member with this much room can hold such an object and its parities together.
[[nodiscard]] bool has_room_for_parities(const CoreConfig& config, std::uint32_t blocks);

}  // namespace stage::core
