// Lets one loop drive a source's and a receiver's core alike.
//
// The verbs of the contract become virtual calls, one for each batch. The loop is compiled
// once, and the cores stay plain types that do not know of it.
#pragma once

#include "transport/base/link_event.h"
#include "transport/core/base/contract.h"

namespace stage {

class AnyCore {
  public:
    AnyCore() = default;
    AnyCore(const AnyCore&) = delete;
    AnyCore& operator=(const AnyCore&) = delete;
    virtual ~AnyCore() = default;

    virtual void on_datagrams(Instant now, std::span<const core::Datagram> datagrams) = 0;
    virtual void on_done(Instant now, std::span<const core::Completion> completions) = 0;
    virtual void on_links(Instant /*now*/, std::span<const LinkEvent> /*events*/) {}
    virtual void on_time(Instant now) = 0;
    virtual void on_abort(Instant now, const Error& why) = 0;
    virtual void on_all_listen(Instant now) = 0;
    virtual void next_sends(Instant now, core::SendBatch& sends) = 0;
    virtual void next_operations(Instant now, core::OperationBatch& operations) = 0;
    [[nodiscard]] virtual std::optional<Instant> deadline() const = 0;
    [[nodiscard]] virtual const core::Outcome& outcome() const = 0;
};

/// Holds a core and forwards every call to it.
template <core::ProtocolCore Core>
class HeldCore final : public AnyCore {
  public:
    template <class... Arguments>
    explicit HeldCore(Arguments&&... arguments)
        : core_{std::forward<Arguments>(arguments)...} {}

    void on_datagrams(Instant now, std::span<const core::Datagram> datagrams) override {
        core_.on_datagrams(now, datagrams);
    }
    void on_done(Instant now, std::span<const core::Completion> completions) override {
        core_.on_done(now, completions);
    }
    /// A core of a transport without connections hears of none.
    void on_links(Instant now, std::span<const LinkEvent> events) override {
        if constexpr (requires { core_.on_links(now, events); }) {
            core_.on_links(now, events);
        }
    }
    void on_time(Instant now) override { core_.on_time(now); }
    void on_abort(Instant now, const Error& why) override { core_.on_abort(now, why); }
    void on_all_listen(Instant now) override { core_.on_all_listen(now); }
    void next_sends(Instant now, core::SendBatch& sends) override {
        core_.next_sends(now, sends);
    }
    void next_operations(Instant now, core::OperationBatch& operations) override {
        core_.next_operations(now, operations);
    }
    [[nodiscard]] std::optional<Instant> deadline() const override { return core_.deadline(); }
    [[nodiscard]] const core::Outcome& outcome() const override { return core_.outcome(); }

  private:
    Core core_;
};

}  // namespace stage
