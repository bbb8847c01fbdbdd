#include "transport/core/relay/relay_requests.h"

#include <algorithm>
#include <numeric>

namespace stage::core {
namespace {

/// The chunks from the first missing one on; in order, so nearly always these are missing.
wire::ChunkRun rest_of(const OpenBlock& open) {
    const std::uint32_t first = open.have.next_absent(0);
    return {.block = open.block,
            .first = static_cast<std::uint16_t>(first),
            .count = static_cast<std::uint16_t>(0xffff - first)};
}

}  // namespace

RelayRequests::RelayRequests(const CoreConfig& config,
                             const RelayLimits& limits,
                             std::uint32_t stripes,
                             Reassembly& reassembly)
    : most_{std::max(std::min(limits.requested_max, config.resident_blocks / 2) / stripes, 1U)},
      reassembly_{reassembly},
      absent_from_(stripes) {
    std::iota(absent_from_.begin(), absent_from_.end(), 0U);
}

bool RelayRequests::is_filling(const OpenBlock& open, std::uint32_t stripe) const {
    return open.state == OpenState::filling &&
           open.block.value() % absent_from_.size() == stripe;
}

wire::Request RelayRequests::more(std::uint32_t stripe) {
    const ChunkMap& map = reassembly_.map();
    std::uint32_t filling = 0;
    for (std::size_t i = 0; i < map.open_count(); ++i) {
        filling += is_filling(map.at(i), stripe) ? 1U : 0U;
    }
    look_back();
    wire::Request request;
    for (; filling < most_; ++filling) {
        const OpenBlock* const opened = open_next(stripe);
        if (opened == nullptr) {
            break;
        }
        request.runs.push_back(rest_of(*opened));
        is_wrong_again_ = is_wrong_again_ || opened->bad_digests > 1;
    }
    return request;
}

/// A closed block that is not held was wrong, and is absent again.
void RelayRequests::look_back() {
    for (const BlockIndex block : reassembly_.take_closed()) {
        if (!reassembly_.map().is_held(block)) {
            std::uint32_t& from = absent_from_[block.value() % absent_from_.size()];
            from = std::min(from, block.value());
        }
    }
}

/// Null if no block of the stripe is absent, or there is no room for one.
const OpenBlock* RelayRequests::open_next(std::uint32_t stripe) {
    const ChunkMap& map = reassembly_.map();
    std::uint32_t& from = absent_from_[stripe];
    while (from < map.blocks() && map.first_absent(from, from + 1) != from) {
        from += static_cast<std::uint32_t>(absent_from_.size());
    }
    return from < map.blocks() ? reassembly_.open(BlockIndex{from}) : nullptr;
}

wire::Request RelayRequests::again(std::uint32_t stripe) const {
    wire::Request request;
    const ChunkMap& map = reassembly_.map();
    for (std::size_t i = 0; i < map.open_count(); ++i) {
        if (is_filling(map.at(i), stripe)) {
            request.runs.push_back(rest_of(map.at(i)));
        }
    }
    return request;
}

}  // namespace stage::core
