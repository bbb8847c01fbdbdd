// The daemon's side of one node's wire-up: the exchange of business cards.
//
// It says when the worker can start and with which variables, and carries this node's parts to
// the stage and the results to the worker. There are two: HostedWireUp (a PMIx host) and
// TreeWireUp (the worker's own socket). Which one is the plan's decision
// (pmix/wire_up_kind.h); the run and the stage see only this interface.
#pragma once

#include "stager/daemon/tree/tree_message.h"
#include "stager/messages/worker_setup.h"

#include <string>
#include <vector>

namespace stage {

/// Receives the events of a wire-up, from the loop or from within begin(). Must not destroy it
/// within a call.
class WireUpOwner {
  public:
    WireUpOwner() = default;
    WireUpOwner(const WireUpOwner&) = delete;
    WireUpOwner& operator=(const WireUpOwner&) = delete;
    virtual ~WireUpOwner() = default;

    /// The worker can start, with these variables.
    virtual void on_prepared(std::vector<std::string> environment) = 0;
    /// This node's part of a collective.
    virtual void on_part(Collective kind,
                         std::uint32_t sequence,
                         std::vector<std::byte> bytes) = 0;
    virtual void on_word(const ToWorker& message) = 0;
    /// The worker has all cards, and does not need the wire-up any more.
    virtual void on_wired() = 0;
    /// The wire-up never began.
    virtual void on_unavailable(const std::string& why) = 0;
    virtual void on_lost(const std::string& why) = 0;
};

class WireUp {
  public:
    WireUp() = default;
    WireUp(const WireUp&) = delete;
    WireUp& operator=(const WireUp&) = delete;
    virtual ~WireUp() = default;

    virtual void begin() = 0;
    /// The result of a collective to which this node has contributed.
    virtual void result(Collective kind,
                        std::uint32_t sequence,
                        std::vector<std::byte> bytes) = 0;
    virtual void on_card(std::vector<std::byte> /*card*/) {}
    /// Whether the worker is to connect now, or waits for the node's cache, which takes as long
    /// as another worker reads.
    virtual void watch_connect(bool /*is_due*/) {}
    /// A failure of the worker may only mean that this wire-up has failed.
    [[nodiscard]] virtual bool can_be_lost() const { return false; }
    /// A member has failed: the worker's calls fail.
    virtual void abort() {}
    /// No event follows.
    virtual void close() {}
};

}  // namespace stage
