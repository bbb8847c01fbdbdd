// Performs a core's disk operations on an object that lies in memory.
//
// The blocks' buffers are their places in the object (BlockStore), so nothing is read, written
// or copied: a source's load computes the digest, a receiver's verify compares it. All of that
// is done on the calling thread, which the caller lends to the broadcast anyway.
#pragma once

#include "transport/run/object/disk.h"

#include <unordered_map>
#include <vector>

namespace stage {

class MemoryDisk final : public Disk {
  public:
    /// An object of `blocks` blocks: at the source it is complete, at a receiver it is to be
    /// filled, and an object of another size is refused.
    MemoryDisk(std::uint32_t blocks, bool is_source) : blocks_{blocks}, is_source_{is_source} {}

    std::optional<core::Completion> submit(const core::Operation& operation,
                                           MutableBytes buffer) override;
    [[nodiscard]] std::vector<core::Completion> take() override;
    /// There is no other thread: what is_idle() denies is to be taken in the next turn.
    [[nodiscard]] int event_fd() const override { return -1; }
    [[nodiscard]] bool is_idle() const { return done_.empty(); }

  private:
    [[nodiscard]] core::Completion load(core::Completion done, Bytes buffer);
    [[nodiscard]] core::Completion verify(const core::Operation& operation,
                                          core::Completion done,
                                          Bytes buffer) const;
    [[nodiscard]] core::Completion finish(core::Completion done) const;

    std::uint32_t blocks_;
    bool is_source_;
    /// Descriptors of the blocks that are here.
    std::unordered_map<std::uint32_t, wire::Descriptor> descriptors_;
    std::vector<core::Completion> done_;
};

}  // namespace stage
