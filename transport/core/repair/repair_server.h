// How does a holder answer those who miss something?
//
// It sends what is in memory, reads back a few blocks at a time for the rest, and says at once
// what it lacks. Answers wait as *jobs*, one for each asker and block; there are only so many,
// and who comes when all are taken is told to ask elsewhere.
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
    /// `holdings` and `residence` must outlive this.
    RepairServer(const Limits& limits,
                 std::uint16_t chunk_bytes,
                 const Holdings& holdings,
                 BufferPool& residence);

    /// Somebody asks. What can't be given is answered by LACKING right away.
    void on_request(Instant now, Rank from, const wire::Request& request, ControlQueue& out);
    /// Sends these chunks to everybody. False if there is no room for another job.
    bool repeat(Instant now, const wire::ChunkRun& run);

    /// Orders what has to be read back.
    void order_loads(OperationQueue& operations, std::uint64_t& next_ticket);
    /// order_loads() would order something.
    [[nodiscard]] bool wants_loads() const;
    /// A load ended; a bad one's askers are told.
    void on_loaded(BlockIndex block, bool is_good, ControlQueue& out);

    /// Sends as far as credit and batch go.
    void fill(Instant now, SendBatch& batch, Pacer& pacer, Numbering& numbers);
    /// Something could be sent, had it credit.
    [[nodiscard]] bool is_waiting() const;
    /// When jobs are given up.
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
        bool is_ready = false;   ///< The block is resident.
        bool is_pinned = false;  ///< By this job.
    };
    struct Told {
        Rank peer;
        std::uint64_t number = 0;  ///< The last of ours that the peer was sent.
    };

    [[nodiscard]] bool enqueue(Instant now,
                               Destination to,
                               const wire::ChunkRun& run,
                               std::uint32_t request);
    [[nodiscard]] bool is_loading_block(BlockIndex block) const;
    [[nodiscard]] std::deque<Job>::iterator find(const Destination& to, BlockIndex block);
    void answer_descriptor(Rank from,
                           const wire::ChunkRun& run,
                           wire::Request& lacking,
                           ControlQueue& out);
    void take_lacking(Rank from, const wire::ChunkRun& run, wire::Request& lacking);
    void make_ready(Job& job);
    void finish(std::size_t index);
    void refuse(std::size_t index, ControlQueue& out);
    [[nodiscard]] bool send_some(
        Instant now, Job& job, SendBatch& batch, Pacer& pacer, Numbering& numbers);
    void tell_number(const Job& job, SendBatch& batch, Pacer& pacer, Numbering& numbers);

    RepairLimits limits_;
    std::uint32_t packet_bytes_;
    const Holdings& holdings_;
    BufferPool& residence_;
    std::deque<Job> jobs_;
    std::vector<ChunkSet> spare_;  ///< Sets of ended jobs.
    std::vector<BlockIndex> loading_;
    std::array<Told, 256> told_{};
};

}  // namespace stage::core
