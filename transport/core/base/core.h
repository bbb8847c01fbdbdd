// The core of one member: its part in a broadcast, without I/O.
//
// The file contract.h has what passes between a core and the driver that runs it. The driver
// calls next_operations() and next_sends() after every on_*(), and again whenever a batch came
// back full. Between two calls nothing else changes.
//
// A core starts at its first on_*(): until then deadline() has long passed. It is over when its
// phase is released, failed or handed_over, and deadline() is empty. Until then it may still
// have a RELEASE to repeat, a LEAVE to send or a late DONE to answer.
#pragma once

#include "transport/base/link_event.h"
#include "transport/core/base/contract.h"

#include <optional>
#include <span>

namespace stage::core {

class Core {
  public:
    Core() = default;
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    virtual ~Core() = default;

    /// Received datagrams, opened and parsed.
    virtual void on_datagrams(Instant now, std::span<const Datagram> datagrams) = 0;
    /// Results of its operations.
    virtual void on_done(Instant now, std::span<const Completion> completions) = 0;
    /// What became of connections to peers. Only a core that uses some hears of them.
    virtual void on_links(Instant /*now*/, std::span<const LinkEvent> /*events*/) {}
    /// Called when deadline() has come.
    virtual void on_time(Instant now) = 0;
    /// Gives up for an external reason (scancel, a failed peer) and informs the group if it
    /// can.
    virtual void on_abort(Instant now, const Error& why) = 0;
    /// Called in each turn in which all that its disk still has to do waits for another session
    /// (run/passage/passage.h): its disk is not stuck, and others know that it goes on.
    virtual void on_disk_waiting(Instant /*now*/) {}
    /// Called at most once: the core of every member runs by now, so a member that is not heard
    /// is unreachable and not just busy.
    virtual void on_all_listen(Instant now) = 0;

    /// Adds what to send now, as far as pacing allows.
    virtual void next_sends(Instant now, SendBatch& batch) = 0;
    /// Adds what to do with buffers and the object.
    virtual void next_operations(Instant now, OperationBatch& batch) = 0;
    [[nodiscard]] virtual std::optional<Instant> deadline() const = 0;
    [[nodiscard]] virtual const Outcome& outcome() const = 0;
};

}  // namespace stage::core
