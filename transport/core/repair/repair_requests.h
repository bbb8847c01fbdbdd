// Keeps the repair requests that wait for an answer.
//
// It knows which chunks each request still expects and how many are in flight. It chooses
// neither chunks nor peers nor times.
#pragma once

#include "transport/base/units.h"
#include "transport/core/base/chunk_map.h"
#include "transport/wire/body.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stage::core {

/// A request for chunks of one block, to one peer.
struct RepairRequest {
    static constexpr std::size_t kChunksMax = 32;

    std::uint32_t id = 0;
    Rank peer;
    BlockIndex block;
    std::array<std::uint16_t, kChunksMax> chunks{};  ///< Ascending.
    std::uint8_t left = 0;   ///< The number of `chunks` that are still expected.
    std::uint8_t given = 0;  ///< The number of chunks that arrived, from any member.
    bool has_given = false;  ///< The peer sent something.
    /// The chunks were requested anew; the answer still counts.
    bool is_replaced = false;
    Instant sent_at{};
    Instant expires_at{};

    [[nodiscard]] std::span<const std::uint16_t> expected() const {
        return {chunks.data(), left};
    }
    /// Requires a chunk above the expected ones, and room for it.
    void add(std::uint32_t chunk) { chunks[left++] = static_cast<std::uint16_t>(chunk); }
    /// Adds chunks of [from, below) that are missing and not requested, up to `most` in all.
    void gather(const OpenBlock& open,
                std::uint32_t from,
                std::uint32_t below,
                std::uint32_t most);
    /// True if the chunk was expected.
    bool remove(std::uint32_t chunk);
    /// The packet's body. Consecutive chunks become one run.
    [[nodiscard]] wire::Request body() const;
};

class RepairRequests {
  public:
    explicit RepairRequests(std::size_t requests_max) : requests_max_{requests_max} {
        requests_.reserve(requests_max);
    }

    [[nodiscard]] std::uint32_t draw_id() { return next_id_++; }
    void add(const RepairRequest& request);

    [[nodiscard]] bool is_empty() const { return requests_.empty(); }
    [[nodiscard]] bool is_full() const { return requests_.size() >= requests_max_; }
    [[nodiscard]] std::uint32_t chunks_in_flight() const { return in_flight_; }
    /// How many requests wait for this peer's answer.
    [[nodiscard]] std::size_t count_at(Rank peer) const;
    /// The time of the next time-out.
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// All requests, in any order. The expected chunks change only by the functions below.
    [[nodiscard]] std::span<RepairRequest> all() { return requests_; }
    [[nodiscard]] std::optional<std::size_t> find(std::uint32_t id, Rank peer) const;
    /// The chunk arrived. True if this request expected it.
    bool on_arrival(std::size_t index, BlockIndex block, std::uint32_t chunk);
    /// Moves the chunks of the runs into a copy of the request, and returns the copy.
    [[nodiscard]] RepairRequest refuse(std::size_t index, std::span<const wire::ChunkRun> runs);
    /// Ends one request. The last one takes its index.
    void end(std::size_t index);
    /// Ends all requests of the block.
    void forget(BlockIndex block);
    /// Ends a request that timed out, and returns it.
    [[nodiscard]] std::optional<RepairRequest> take_expired(Instant now);
    /// The chunks of all requests are requested anew: these requests time out at `at` or
    /// earlier.
    void replace_all(Instant at);

    /// What an ended request expected may be requested again, unless another request covers it.
    void give_back(const RepairRequest& ended, OpenBlock& open) const;

  private:
    std::size_t requests_max_;
    std::vector<RepairRequest> requests_;
    std::uint32_t in_flight_ = 0;  ///< Chunks.
    std::uint32_t next_id_ = 1;
};

}  // namespace stage::core
