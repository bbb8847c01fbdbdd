#include "transport/core/base/parity_code.h"

#include "transport/core/base/contract.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"

#include <algorithm>

namespace stage::core {

std::vector<ParityCode::Symbol> ParityCode::symbols() const {
    const Cut cut{chunk_bytes};
    std::vector<Symbol> all;
    BlockIndex block = first;
    for (const std::uint32_t length : wire_lengths) {
        for (std::uint32_t chunk = 0; chunk < cut.chunks(length); ++chunk) {
            all.push_back({.block = block,
                           .chunk = ChunkIndex{static_cast<std::uint16_t>(chunk)},
                           .bytes = cut.length(length, chunk)});
        }
        ++block;
    }
    return all;
}

std::uint32_t ParityCode::symbol_bytes() const {
    const auto longest = std::ranges::max_element(wire_lengths);
    return longest == wire_lengths.end() ? 0U : std::min(*longest, chunk_bytes);
}

namespace {

/// Each block may end in a short chunk.
std::uint64_t symbols_most(const CoreConfig& config, const ObjectShape& shape) {
    return shape.object_bytes / config.chunk_bytes + shape.blocks;
}

}  // namespace

std::uint8_t parities_for(const CoreConfig& config,
                          const ObjectShape& shape,
                          const ParityLimits& limits) {
    const bool is_small = symbols_most(config, shape) <= limits.symbols_max &&
                          shape.blocks <= limits.coded_blocks_max &&
                          has_room_for_parities(config, shape.blocks);
    return is_small ? limits.parities : 0;
}

bool may_go_with_offers(const CoreConfig& config,
                        const ObjectShape& shape,
                        const ParityLimits& limits) {
    return parities_for(config, shape, limits) > 0 && !config.holds_already &&
           symbols_most(config, shape) <= limits.offered_symbols_max;
}

bool goes_with_offers(const CoreConfig& config,
                      const ObjectShape& shape,
                      const ParityLimits& limits) {
    return config.policies.readiness == ReadinessPolicy::none &&
           may_go_with_offers(config, shape, limits);
}

/// With the window of the first pass below: nothing of the object may wait for a report.
bool has_room_for_parities(const CoreConfig& config, std::uint32_t blocks) {
    return std::uint64_t{2} * blocks < config.resident_blocks;
}

}  // namespace stage::core
