// What every baseline needs, whatever its algorithm.
//
// The papers' algorithms run as cores in the simulator: the same links, loss, disks and checks
// of every byte as stagecast has. A node holds what is common: which chunks are here, verifying
// and storing, a pacer with the link's rate, and an ending that costs no time (DONE to the
// source, RELEASE to all). All members know the object's shape beforehand and are ready at
// once, so a baseline pays for its data and its repairs only.
#pragma once

#include "tests/sim/host/content.h"
#include "transport/core/base/chunk_set.h"
#include "transport/core/base/core.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/base/repeater.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/pacer.h"

#include <functional>
#include <map>
#include <vector>

namespace stage::sim {

class Node : public core::Core {
  public:
    Node(const Plan& plan, std::uint16_t rank);

    void on_datagrams(Instant now, std::span<const core::Datagram> datagrams) final;
    void on_done(Instant now, std::span<const core::Completion> completions) final;
    void on_time(Instant now) final;
    void on_abort(Instant, const Error&) final {}
    void on_all_listen(Instant) final {}
    void next_sends(Instant now, core::SendBatch& sends) final;
    void next_operations(Instant now, core::OperationBatch& operations) final;
    [[nodiscard]] std::optional<Instant> deadline() const final;
    [[nodiscard]] const core::Outcome& outcome() const final { return outcome_; }

  protected:
    // An algorithm. Chunks are counted through the whole object.
    /// A chunk came; it is placed if it is wanted, and not here yet.
    virtual bool wants(std::uint32_t /*chunk*/) { return true; }
    virtual void on_chunk(Instant, const core::Datagram&, std::uint32_t /*chunk*/) {}
    virtual void on_parity(Instant, const core::Datagram& datagram) { drop(datagram); }
    virtual void on_control(Instant, const core::Datagram&) {}
    virtual void work(Instant) {}  ///< Time passed, or something came.
    /// Something waits to be sent as DATA, as far as the pacer goes.
    [[nodiscard]] virtual bool wants_to_send() const { return false; }
    virtual void fill(Instant, core::SendBatch&) {}
    [[nodiscard]] virtual std::optional<Instant> next() const { return std::nullopt; }

    [[nodiscard]] bool is_source() const { return rank_ == plan_.source; }
    [[nodiscard]] std::uint32_t chunks() const { return first_.back(); }
    /// The first chunk of a block, or, of the block after the last, how many there are.
    [[nodiscard]] std::uint32_t first_of(std::uint32_t block) const { return first_[block]; }
    [[nodiscard]] std::uint32_t block_of(std::uint32_t chunk) const;
    [[nodiscard]] bool has_loaded() const { return loaded_ == plan_.block_bytes.size(); }
    [[nodiscard]] bool has_all() const { return have_.count() == chunks(); }

    static core::Destination group() { return {.to_group = true, .peer = {}}; }
    static core::Destination peer(std::uint32_t rank) {
        return {.to_group = false, .peer = Rank{static_cast<std::uint16_t>(rank)}};
    }
    /// Sends up to `count` chunks from `chunk` on; how many the batch, the credit and the block
    /// allowed.
    std::uint32_t send(Instant now,
                       core::SendBatch& batch,
                       core::Destination to,
                       std::uint32_t chunk,
                       std::uint32_t count);
    /// Sends, as above, those of `wanted` that are here, from the lowest on; takes them out.
    void send_wanted(Instant now,
                     core::SendBatch& batch,
                     core::Destination to,
                     core::ChunkSet& wanted);
    /// The runs of chunks missing below a chunk, as many as a packet takes.
    [[nodiscard]] std::vector<std::byte> missing(std::uint32_t below) const;
    using Visit = std::function<void(std::uint32_t chunk)>;
    /// Each chunk that such a body names.
    void for_each(Bytes body, const Visit& visit) const;
    void drop(const core::Datagram& datagram);
    /// Chunks of a block are here without having come.
    void on_reconstructed(std::uint32_t block);

    const Plan& plan_;
    std::uint16_t rank_;
    Object object_;
    Prng prng_;
    core::ChunkSet have_;
    core::ControlQueue control_{4096};
    core::Numbering numbers_;
    core::Pacer pacer_;
    std::deque<core::Operation> operations_;

  private:
    void on_data(Instant now, const core::Datagram& datagram);
    void advance(std::uint32_t block);
    void order(core::OperationKind kind, std::uint32_t block);
    void tell(Instant now);

    std::vector<std::uint32_t> first_;
    std::vector<std::uint32_t> left_;  ///< Chunks that a block misses.
    std::uint32_t packet_bytes_;
    std::uint64_t ticket_ = 1;
    std::size_t loaded_ = 0;
    std::size_t stored_ = 0;
    bool is_started_ = false;
    core::Outcome outcome_;
    core::RankSet done_;
    core::Repeater telling_;  ///< DONE, or the source's RELEASE.
};

/// A source that multicasts every chunk once, then END until all is over.
class PassSource : public Node {
  public:
    PassSource(const Plan& plan, std::uint16_t rank);

  protected:
    void work(Instant now) override;
    [[nodiscard]] bool wants_to_send() const override {
        return has_loaded() && (cursor_ < chunks() || !repeats_.is_empty());
    }
    /// Repeats go first.
    void fill(Instant now, core::SendBatch& batch) override;
    [[nodiscard]] std::optional<Instant> next() const override { return end_.deadline(); }

    std::uint32_t cursor_ = 0;
    core::ChunkSet repeats_;  ///< To all.

  private:
    core::Repeater end_;
};

}  // namespace stage::sim
