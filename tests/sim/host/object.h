// The object of a plan: its shape, and what its bytes are.
//
// Every eight bytes of a block are one number that only the right place of the right object
// has, so that a byte in the wrong place is detected wherever it turns up. In most scenarios a
// chunk is *small*: members hold and send eight bytes of it, one such number, while cores and
// links count its real length.
#pragma once

#include "tests/sim/plan/plan.h"
#include "transport/core/base/contract.h"

#include <cstdint>

namespace stage::sim {

class Object {
  public:
    explicit Object(const Plan& plan) : plan_{plan}, cut_{plan.chunk_bytes} {}

    /// Chunks are so long from now on.
    void recut(std::uint32_t chunk_bytes) { cut_ = chunk_bytes; }
    [[nodiscard]] std::uint32_t cut() const { return cut_; }

    // As cores and links count.
    /// 0 for a hole. Of a block after the object's: of parities.
    [[nodiscard]] std::uint32_t chunks(std::uint32_t block) const;
    /// The number of chunks of all blocks.
    [[nodiscard]] std::uint64_t chunks_all() const;
    [[nodiscard]] bool is_hole(std::uint32_t block) const;
    /// The length of a chunk, or of a parity.
    [[nodiscard]] std::uint32_t chunk_bytes(std::uint32_t block, std::uint32_t chunk) const;

    // As members hold it.
    [[nodiscard]] bool is_small() const {
        return !plan_.is_really_sealed && plan_.chunk_bytes_fallback == 0;
    }
    /// The length of a full chunk.
    [[nodiscard]] std::uint32_t held_chunk_bytes() const;
    [[nodiscard]] std::uint32_t held_bytes(std::uint32_t block) const;
    /// What a buffer needs for any block, or for parities.
    [[nodiscard]] std::uint32_t held_bytes_max() const;
    void fill(std::uint32_t block, MutableBytes bytes) const;
    [[nodiscard]] bool is_right(std::uint32_t block, Bytes bytes) const;
    /// Describes a block as cores pass it on: with the digest of what members hold.
    [[nodiscard]] wire::Descriptor describe(std::uint32_t block) const;

  private:
    /// The number of chunks of a block, taken as one that is no hole.
    [[nodiscard]] std::uint32_t cuts(std::uint32_t block) const {
        return (plan_.block_bytes[block] + cut_ - 1U) / cut_;
    }

    const Plan& plan_;
    std::uint32_t cut_;
};

}  // namespace stage::sim
