// The core of a relay's source.
//
// It offers the object to the members that connect to it as children, reads blocks in order a
// few ahead of what they request, and sends them. It learns by DONE which members hold the
// object, and by LEAVE which cannot, and ends the broadcast by RELEASE. Packets go by a driver
// with reliable unicast: nothing is sent twice on one connection, and nothing is paced.
#pragma once

#include "transport/core/base/core.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/feedback/broadcast_result.h"
#include "transport/core/relay/relay_children.h"
#include "transport/core/relay/relay_limits.h"
#include "transport/core/relay/relay_progress.h"
#include "transport/core/relay/relay_stock.h"
#include "transport/core/relay/relay_tree.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/disk_watch.h"
#include "transport/core/sending/operation_queue.h"

#include <optional>
#include <vector>

namespace stage::core {

class RelaySource final : public Core {
  public:
    /// Requires config.own == config.source. `relay`: the same on each member.
    RelaySource(const CoreConfig& config,
                const ObjectShape& shape,
                const Relay& relay,
                RelayLimits limits = {});

    void on_datagrams(Instant now, std::span<const Datagram> datagrams) override;
    void on_done(Instant now, std::span<const Completion> completions) override;
    void on_links(Instant now, std::span<const LinkEvent> events) override;
    void on_time(Instant now) override { work(now); }
    void on_abort(Instant now, const Error& why) override;
    void on_disk_waiting(Instant now) override { disk_watch_.on_waiting(now); }
    void on_all_listen(Instant now) override { work(now); }
    void next_sends(Instant now, SendBatch& batch) override;
    void next_operations(Instant now, OperationBatch& batch) override;
    [[nodiscard]] std::optional<Instant> deadline() const override;
    [[nodiscard]] const Outcome& outcome() const override { return outcome_; }

  private:
    void on_datagram(Instant now, const Datagram& datagram);
    void on_ready(Instant now, RelayChildren& children, Rank child);
    void on_request(Instant now,
                    RelayChildren& children,
                    Rank child,
                    const wire::Request& request);
    void on_child_done(Instant now, const wire::Done& done);
    void on_pulse(Instant now, Rank child, const wire::Pulse& pulse);
    void on_leave(Instant now, const wire::Ending& leave);
    void on_link(Instant now, const LinkEvent& event);
    void on_completion(Instant now, const Completion& done);
    void on_loaded(const Completion& done);

    void work(Instant now);
    void forgive(Instant now, Duration away);
    void start(Instant now);
    void watch(Instant now);
    void order_finish();
    /// True if the member is dropped from now on.
    bool fail(Rank culprit, Error why);
    void decide(Instant now);

    /// The tree by which all goes that is not of one stripe.
    [[nodiscard]] RelayChildren& first() { return stripes_.front(); }
    [[nodiscard]] const RelayChildren& first() const { return stripes_.front(); }
    [[nodiscard]] std::uint32_t requested_below() const;
    [[nodiscard]] bool can_serve() const;
    /// No block from here on is read yet.
    [[nodiscard]] std::uint32_t read_below() const;
    /// True while a child waits for a block that this member's disk has not read yet.
    [[nodiscard]] bool is_waited_for() const;
    [[nodiscard]] Duration disk_timeout() const;
    [[nodiscard]] bool is_over() const {
        return outcome_.phase == Phase::released || outcome_.phase == Phase::failed;
    }

    CoreConfig config_;
    RelayLimits limits_;
    EndingLimits ending_;
    ObjectShape shape_;
    Outcome outcome_;
    Numbering numbers_;
    ControlQueue control_;
    RelayStock stock_;
    std::vector<RelayChildren> stripes_;  ///< The children in each one's tree.
    BroadcastResult result_;
    RelayProgress progress_;
    OperationQueue operations_;
    DiskWatch disk_watch_;
    std::uint64_t next_ticket_ = 1;
    bool is_started_ = false;
    bool is_finishing_ = false;
    /// A member was a child in the first tree: until then none can confirm the end.
    bool has_begun_ = false;
    std::optional<Instant> pulse_at_;
    std::optional<wire::Ending> released_;
    std::optional<Instant> stays_until_;
};

}  // namespace stage::core
