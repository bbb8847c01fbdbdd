// What a simulated member reads and stores, below the real SourceIo and SinkIo.
//
// It checks each stored byte, and fails as the plan says. Its host's disk (sim_disk.h) decides
// when an operation happens.
#pragma once

#include "tests/sim/host/object.h"
#include "transport/run/object/object_io.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stage::sim {

class Content final : public ObjectIo, private BlockSource, private BlockSink {
  public:
    using Complain = std::function<void(std::string)>;

    /// Violations of the contract or of the invariants are passed to `complain`.
    Content(const Plan& plan,
            std::uint16_t rank,
            const Object& object,
            Prng& prng,
            Complain complain);

    Performed perform(const core::Operation& operation, MutableBytes buffer) override;
    [[nodiscard]] std::uint32_t block_length(BlockIndex block) const;

    /// Every block is on disk, right, and the files have their names.
    [[nodiscard]] bool is_whole() const { return has_finished_; }
    [[nodiscard]] std::uint64_t chunks_stored() const { return chunks_stored_; }
    [[nodiscard]] std::uint64_t loads() const { return loads_; }

  private:
    // What the source reads.
    [[nodiscard]] std::uint32_t block_count() const override;
    [[nodiscard]] std::uint64_t object_bytes() const override { return plan_.object_bytes(); }
    Result<SourceBlock> read(BlockIndex block, MutableBytes room) override;
    // What a receiver writes.
    Result<Placing> write(BlockIndex block, Bytes bytes, const Digest128& leaf) override;
    Status read_back(BlockIndex block, std::uint32_t offset, MutableBytes room) override;
    // Both.
    Status finish() override;

    void hold_before(const core::BlockRun& run);
    [[nodiscard]] bool must_wait(BlockIndex block) const;
    void flip(BlockIndex block, MutableBytes buffer);

    const Plan& plan_;
    const MemberPlan& own_;
    const Object& object_;
    bool is_source_;
    Prng& prng_;
    Complain complain_;
    std::unique_ptr<ObjectIo> io_;      ///< The real one.
    std::vector<std::uint8_t> stored_;  ///< How often each block was stored.
    std::vector<std::uint8_t> before_;  ///< Whether each block was here before.
    std::uint32_t blocks_stored_ = 0;
    bool may_be_coded_;  ///< One code speaks of all blocks, and they come again.
    std::uint32_t accesses_ = 0;
    bool has_finished_ = false;
    std::uint64_t chunks_stored_ = 0;
    std::uint64_t loads_ = 0;
};

}  // namespace stage::sim
