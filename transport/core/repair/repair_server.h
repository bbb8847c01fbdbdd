// Answers repair requests from a member's memory or disk.
//
// It sends chunks that are in memory, reads back a few blocks at a time for the rest, and
// answers LACKING at once for what the member does not have. Answers wait as *jobs*, one for
// each requester and block. Their number is limited; without room for a job the answer is
// LACKING with the flag `busy`, which says nothing about what the member has.
#pragma once

#include "transport/core/base/chunk_set.h"
#include "transport/core/base/contract.h"
#include "transport/core/base/holdings.h"
#include "transport/core/base/limits.h"
#include "transport/core/sending/buffer_pool.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/operation_queue.h"
#include "transport/core/sending/pacer.h"
#include "transport/core/sending/train.h"

#include <array>
#include <deque>
#include <optional>
#include <vector>

namespace stage::core {

class RepairServer {
  public:
    /// `holdings` and `pool` must outlive this.
    RepairServer(const Limits& limits,
                 std::uint32_t chunk_bytes,
                 const Holdings& holdings,
                 BufferPool& pool);

    /// A REQUEST arrived. What cannot be given is answered with LACKING at once.
    void on_request(Instant now, Rank from, const wire::Request& request, ControlQueue& out);
    /// Retransmits these chunks to the group. False if there is no room for another job.
    bool repeat(Instant now, const wire::ChunkRun& run);

    /// Queues loads of the blocks that have to be read back.
    void order_loads(OperationQueue& operations, std::uint64_t& next_ticket);
    /// True if order_loads() would queue a load.
    [[nodiscard]] bool wants_loads() const;
    /// A load ended. After a failed one its requesters get LACKING.
    void on_loaded(BlockIndex block, bool is_good, ControlQueue& out);

    /// Sends as far as tokens and batch allow.
    void fill(Instant now, SendBatch& batch, Pacer& pacer, Numbering& numbers);
    /// True if something could be sent with more tokens.
    [[nodiscard]] bool is_waiting() const;
    /// When the oldest job expires.
    [[nodiscard]] std::optional<Instant> deadline() const;

    void expire(Instant now, ControlQueue& out);
    void clear();

  private:
    struct Job {
        Destination to;
        BlockIndex block;
        ChunkSet wanted;
        std::uint32_t request = 0;
        Instant asked_at{};
        bool is_ready = false;        ///< The block is resident.
        bool is_pinned = false;       ///< By this job.
        bool is_to_describe = false;  ///< The requester asked for the descriptor, too.
    };
    struct NumberSent {
        Rank peer;
        /// This member's last packet number that the peer received in full.
        std::uint64_t number = 0;
        std::uint8_t stated = 0;  ///< How often it got the whole number since a gap.
    };

    enum class Enqueued : std::uint8_t { waits, absent, no_room };

    [[nodiscard]] Enqueued enqueue(Instant now,
                                   Destination to,
                                   const wire::ChunkRun& run,
                                   std::uint32_t request);
    [[nodiscard]] bool is_loading_block(BlockIndex block) const;
    [[nodiscard]] std::deque<Job>::iterator find(const Destination& to, BlockIndex block);
    [[nodiscard]] bool enqueue_descriptor(Instant now,
                                          Rank from,
                                          BlockIndex block,
                                          std::uint32_t request);
    void answer_descriptor(Instant now,
                           Rank from,
                           const wire::ChunkRun& run,
                           wire::Request& lacking,
                           ControlQueue& out);
    static void push_lacking(Rank to,
                             const wire::Request& body,
                             bool is_busy,
                             ControlQueue& out);
    void take_lacking(Rank from, const wire::ChunkRun& run, wire::Request& lacking);
    void make_ready(Job& job);
    void finish(std::size_t index);
    void refuse(std::size_t index, bool is_busy, ControlQueue& out);
    [[nodiscard]] bool send_some(
        Instant now, Job& job, SendBatch& batch, Pacer& pacer, Numbering& numbers);
    [[nodiscard]] NumberSent& sent_to(Rank peer);
    void send_number(Job& job, SendBatch& batch, Pacer& pacer, Numbering& numbers);

    RepairLimits limits_;
    std::uint32_t packet_bytes_;
    const Holdings& holdings_;
    BufferPool& pool_;
    std::deque<Job> jobs_;
    std::vector<ChunkSet> spare_;  ///< Sets of ended jobs, for reuse.
    std::vector<BlockIndex> loading_;
    std::array<NumberSent, 256> numbers_sent_{};
};

}  // namespace stage::core
