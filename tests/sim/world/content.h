// The bytes that a simulated member has, in memory and on its disk.
//
// Each chunk of the object is one number that only the right place of the right object has, so
// that a byte in the wrong place is detected wherever it turns up. The disk does what an
// operation wants, or fails as the plan says; the host decides when it is done.
#pragma once

#include "tests/sim/world/plan.h"
#include "transport/core/base/contract.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stage::sim {

/// The object of a plan.
class Object {
  public:
    explicit Object(const Plan& plan) : plan_{plan}, cut_{plan.chunk_bytes} {}
    /// Chunks are so long from now on.
    void recut(std::uint32_t chunk_bytes) { cut_ = chunk_bytes; }
    [[nodiscard]] std::uint32_t cut() const { return cut_; }

    [[nodiscard]] wire::Descriptor describe(std::uint32_t block) const;
    [[nodiscard]] std::uint64_t content(std::uint32_t block, std::uint32_t chunk) const;
    /// 0 for a hole. Of a block after the object's: of parities.
    [[nodiscard]] std::uint32_t chunks(std::uint32_t block) const;
    [[nodiscard]] std::uint32_t chunk_bytes(std::uint32_t block, std::uint32_t chunk) const;
    /// Of a chunk that is sent so, or of a parity.
    [[nodiscard]] std::uint32_t sent_bytes(const core::Send& send, std::uint32_t chunk) const {
        return send.length > 0 ? send.length : chunk_bytes(send.block.value(), chunk);
    }
    /// Of all blocks.
    [[nodiscard]] std::uint64_t chunks_all() const;
    [[nodiscard]] bool is_hole(std::uint32_t block) const;

  private:
    const Plan& plan_;
    std::uint32_t cut_;
};

/// What a member has; violations of the contract or of the invariants are passed to `complain`.
class Content {
  public:
    using Complain = std::function<void(std::string)>;

    Content(const Plan& plan, std::uint16_t rank, Prng& prng, Complain complain);

    /// The core cuts its blocks anew, of which it has none yet.
    void recut(std::uint32_t chunk_bytes);
    [[nodiscard]] const Object& object() const { return object_; }
    void place(BlockIndex block, ChunkIndex chunk, std::uint64_t content);
    void release(BlockIndex block);
    /// As transport/run/object/erasure.h does: right if all that it is made of is.
    void code(const core::Operation& operation) {
        operation.kind == core::OperationKind::encode ? encode(operation)
                                                      : reconstruct(operation);
    }
    /// What a packet cut from the buffer carries now.
    [[nodiscard]] std::uint64_t cut(BlockIndex block, std::uint32_t chunk) const;

    /// The disk's answers to one operation: none yet if the store has to wait for the manifest,
    /// several if it let others that waited through.
    [[nodiscard]] std::vector<core::Completion> perform(const core::Operation& operation);
    /// Bytes that the operation moves.
    [[nodiscard]] std::uint64_t cost(const core::Operation& operation) const;

    /// Every block is on disk, right, and the files have their names.
    [[nodiscard]] bool is_whole() const { return has_finished_; }
    [[nodiscard]] std::uint64_t chunks_stored() const { return chunks_stored_; }
    [[nodiscard]] std::uint64_t loads() const { return loads_; }
    /// Blocks that were here before.
    [[nodiscard]] std::uint32_t blocks_before() const { return blocks_before_; }
    [[nodiscard]] std::uint64_t reconstructed() const { return reconstructed_; }

  private:
    /// Of each chunk: is it there, and right? So that a buffer costs a byte a chunk.
    enum class State : std::uint8_t { absent, right, flipped, strange };
    using Buffer = std::vector<State>;

    void encode(const core::Operation& operation);
    void reconstruct(const core::Operation& operation);
    [[nodiscard]] core::Completion load(const core::Operation& operation);
    [[nodiscard]] core::Completion verify(const core::Operation& operation);
    [[nodiscard]] std::vector<core::Completion> store(const core::Operation& operation);
    [[nodiscard]] core::Completion write(const core::Operation& operation);
    [[nodiscard]] core::Completion finish(const core::Operation& operation);
    void hold_before(const core::BlockRun& run);
    [[nodiscard]] bool knows_places() const;
    [[nodiscard]] Buffer& make_resident(BlockIndex block);
    [[nodiscard]] const Buffer* find(BlockIndex block) const;
    [[nodiscard]] bool is_right(const Buffer& buffer, std::uint32_t block) const;

    const Plan& plan_;
    const MemberPlan& own_;
    Object object_;
    bool is_source_;
    Prng& prng_;
    Complain complain_;
    std::vector<Buffer> buffers_;
    std::vector<std::uint16_t> free_;      ///< Buffers.
    std::vector<std::uint16_t> resident_;  ///< Of each block, 1 + its buffer, or 0.
    std::vector<std::uint8_t> stored_;     ///< Of each block, how often.
    std::vector<std::uint8_t> before_;     ///< Of each block: it was here before.
    std::uint32_t blocks_stored_ = 0;
    std::uint32_t blocks_before_ = 0;
    bool may_be_coded_;  ///< Then one code speaks of all blocks, and they come again.
    std::vector<core::Operation> deferred_;
    std::uint32_t writes_ = 0;
    bool has_finished_ = false;
    std::uint64_t chunks_stored_ = 0;
    std::uint64_t loads_ = 0;
    std::uint64_t reconstructed_ = 0;
};

}  // namespace stage::sim
