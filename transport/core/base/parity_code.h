// Describes which chunks a set of parities covers.
//
// A small object travels with parities (docs/protocol, 6.5). Its chunks, in order, are the
// *symbols* of a Reed-Solomon code, each padded with zeros to the length of the longest. Any k
// of the k symbols and the parities give all symbols. This file has the numbering; the driver
// computes the bytes (transport/run/object/erasure.h).
#pragma once

#include "transport/base/units.h"

#include <cstdint>
#include <vector>

namespace stage::core {

/// The limit of the code's field.
inline constexpr std::uint32_t kSymbolsAndParitiesMax = 255;

struct ParityLimits;
struct ObjectShape;
struct CoreConfig;

struct ParityCode {
    /// The first block covered.
    BlockIndex first;
    /// The length on the wire of each block covered.
    std::vector<std::uint32_t> wire_lengths;
    std::uint32_t chunk_bytes = 0;
    std::uint16_t parities = 0;

    /// For reconstruct: the missing symbols, ascending, and as many parities that arrived.
    std::vector<std::uint16_t> lost;
    std::vector<std::uint16_t> with;

    struct Symbol {
        BlockIndex block;
        ChunkIndex chunk;
        std::uint32_t bytes = 0;
    };
    [[nodiscard]] std::vector<Symbol> symbols() const;
    /// The length of the longest symbol, and so of each parity.
    [[nodiscard]] std::uint32_t symbol_bytes() const;
};

/// The number of parities of an object of this shape; 0 if it is too large.
[[nodiscard]] std::uint8_t parities_for(const CoreConfig& config,
                                        const ObjectShape& shape,
                                        const ParityLimits& limits);

/// True if the object is so small that it may travel with its OFFERs, before any member is
/// ready.
[[nodiscard]] bool may_go_with_offers(const CoreConfig& config,
                                      const ObjectShape& shape,
                                      const ParityLimits& limits);
/// True if the object travels with its OFFERs: it may, and there is no fence.
[[nodiscard]] bool goes_with_offers(const CoreConfig& config,
                                    const ObjectShape& shape,
                                    const ParityLimits& limits);

/// True if a member with this configuration can hold such an object and its parities at once.
[[nodiscard]] bool has_room_for_parities(const CoreConfig& config, std::uint32_t blocks);

}  // namespace stage::core
