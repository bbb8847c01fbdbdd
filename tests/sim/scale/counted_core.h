// A core whose heap is on its member's account.
#pragma once

#include "tests/sim/scale/counted_heap.h"
#include "transport/core/base/core.h"

#include <functional>
#include <memory>

namespace stage::sim {

class CountedCore final : public core::Core {
  public:
    CountedCore(Account account, const std::function<std::unique_ptr<core::Core>()>& make)
        : account_{account} {
        const OnAccount scope{account_};
        core_ = make();
    }

    void on_datagrams(Instant now, std::span<const core::Datagram> datagrams) override {
        const OnAccount scope{account_};
        core_->on_datagrams(now, datagrams);
    }
    void on_done(Instant now, std::span<const core::Completion> completions) override {
        const OnAccount scope{account_};
        core_->on_done(now, completions);
    }
    void on_time(Instant now) override {
        const OnAccount scope{account_};
        core_->on_time(now);
    }
    void on_abort(Instant now, const Error& why) override {
        const OnAccount scope{account_};
        core_->on_abort(now, why);
    }
    void on_disk_waiting(Instant now) override {
        const OnAccount scope{account_};
        core_->on_disk_waiting(now);
    }
    void on_all_listen(Instant now) override {
        const OnAccount scope{account_};
        core_->on_all_listen(now);
    }
    // The batches are the driver's; the core's own queues were counted when they grew.
    void next_sends(Instant now, core::SendBatch& sends) override {
        core_->next_sends(now, sends);
    }
    void next_operations(Instant now, core::OperationBatch& operations) override {
        core_->next_operations(now, operations);
    }
    [[nodiscard]] std::optional<Instant> deadline() const override { return core_->deadline(); }
    [[nodiscard]] const core::Outcome& outcome() const override { return core_->outcome(); }

  private:
    Account account_;
    std::unique_ptr<core::Core> core_;
};

}  // namespace stage::sim
