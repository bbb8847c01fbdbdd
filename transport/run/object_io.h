// How do a core's disk operations become reads and writes of the object?
//
// A source loads blocks with their descriptors (a block of zeros is a hole and needs no
// packet); a receiver verifies, stores and, to repair others, loads again. One interface for
// both, so that the disk queue need not know which it serves. Every call may block: the disk
// thread's.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"
#include "transport/core/contract.h"
#include "transport/run/sink.h"
#include "transport/run/source.h"

#include <vector>

namespace stage {

/// What became of an operation; `again` is a store whose place isn't known yet.
struct Performed {
    core::Completion completion;
    bool again = false;
};

class ObjectIo {
  public:
    ObjectIo() = default;
    ObjectIo(const ObjectIo&) = delete;
    ObjectIo& operator=(const ObjectIo&) = delete;
    virtual ~ObjectIo() = default;

    /// load, verify, store or finish, on the block's 1 MiB buffer (empty for finish).
    virtual Performed perform(const core::Operation& operation, MutableBytes buffer) = 0;
};

class SourceIo final : public ObjectIo {
  public:
    /// `source` must outlive this.
    explicit SourceIo(BlockSource& source) : source_{source} {}
    Performed perform(const core::Operation& operation, MutableBytes buffer) override;

  private:
    BlockSource& source_;
};

class SinkIo final : public ObjectIo {
  public:
    /// `sink` must outlive this.
    explicit SinkIo(BlockSink& sink) : sink_{sink} {}
    Performed perform(const core::Operation& operation, MutableBytes buffer) override;

  private:
    Performed store(const core::Operation& operation, MutableBytes buffer);
    core::Completion load(const core::Operation& operation, MutableBytes buffer);

    BlockSink& sink_;
    std::vector<wire::Descriptor> stored_;  ///< By block, of what read_back() can give.
};

}  // namespace stage
