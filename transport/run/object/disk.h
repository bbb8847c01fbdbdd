// The interface between a session and what performs its disk operations.
#pragma once

#include "transport/core/base/contract.h"

#include <vector>

namespace stage {

class Disk {
  public:
    Disk() = default;
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;
    virtual ~Disk() = default;

    /// Never blocks. The caller must not touch `buffer` until the operation's completion was
    /// taken.
    virtual void submit(const core::Operation& operation, MutableBytes buffer) = 0;
    [[nodiscard]] virtual std::vector<core::Completion> take() = 0;
    /// Readable while there are completions to take; -1: the caller learns it elsewhere.
    [[nodiscard]] virtual int event_fd() const = 0;
};

}  // namespace stage
