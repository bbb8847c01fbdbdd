// Exchanges cards through a PMIx host of the pool.
#pragma once

#include "stager/daemon/base/loop.h"
#include "stager/daemon/run/host_pool.h"
#include "stager/daemon/run/wire_up.h"
#include "stager/daemon/run/worker_order.h"

#include <memory>

namespace stage {

class HostedWireUp final : public WireUp {
  public:
    /// All but `order` outlive it.
    HostedWireUp(Loop& loop, HostPool& hosts, WireUpOwner& owner, const RunOrder& order);

    void begin() override;
    void result(Collective kind, std::uint32_t sequence, std::vector<std::byte> bytes) override;
    void watch_connect(bool is_due) override;
    [[nodiscard]] bool can_be_lost() const override { return host_ != nullptr; }
    void abort() override;
    void close() override;

  private:
    void on_host(Result<HostPool::HostPointer> host);
    void on_message(FromHost message);
    void send(const ToHost& message);
    void lose(const std::string& why);

    Loop& loop_;
    HostPool& hosts_;
    WireUpOwner& owner_;
    HostJob job_;
    HostPool::HostPointer host_;
    Alarm alarm_;
    bool has_environment_ = false;
    bool waits_for_connect_ = false;  ///< The worker must connect next.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< Until close().
};

}  // namespace stage
