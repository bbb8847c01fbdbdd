// The interface between a session and what performs its disk operations.
#pragma once

#include "transport/core/base/contract.h"

#include <optional>
#include <vector>

namespace stage {

class Disk {
  public:
    Disk() = default;
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;
    virtual ~Disk() = default;

    /// Never blocks. Returns the completion of what is done at once; until another's was taken
    /// the caller must not touch `buffer`.
    [[nodiscard]] virtual std::optional<core::Completion> submit(
        const core::Operation& operation, MutableBytes buffer) = 0;
    [[nodiscard]] virtual std::vector<core::Completion> take() = 0;
    /// True if all that was submitted and not taken waits for another session: for a block that
    /// is still to come, or until it may finish.
    [[nodiscard]] virtual bool is_waiting() { return false; }
    /// Readable while there are completions to take; -1: the caller learns it elsewhere.
    [[nodiscard]] virtual int event_fd() const = 0;
};

}  // namespace stage
