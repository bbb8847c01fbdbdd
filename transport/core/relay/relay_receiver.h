// The core of a relay's receiver.
//
// It connects to its parent in the tree, requests the blocks for which it has memory, places
// what arrives, verifies and stores complete blocks, and passes chunks on to its own children
// as soon as they are here. If its parent fails it goes on with the next ancestor, from the
// first chunk that it misses.
#pragma once

#include "transport/core/base/core.h"
#include "transport/core/base/limits.h"
#include "transport/core/receiver/reassembly.h"
#include "transport/core/relay/relay_children.h"
#include "transport/core/relay/relay_done.h"
#include "transport/core/relay/relay_lag.h"
#include "transport/core/relay/relay_limits.h"
#include "transport/core/relay/relay_parent.h"
#include "transport/core/relay/relay_requests.h"
#include "transport/core/relay/relay_tree.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/disk_watch.h"

#include <map>
#include <optional>
#include <vector>

namespace stage::core {

class RelayReceiver final : public Core {
  public:
    /// Requires config.own != config.source. `relay`: the same on each member.
    RelayReceiver(const CoreConfig& config,
                  const Relay& relay,
                  RelayLimits limits = {},
                  Limits common = {});

    void on_datagrams(Instant now, std::span<const Datagram> datagrams) override;
    void on_done(Instant now, std::span<const Completion> completions) override;
    void on_links(Instant now, std::span<const LinkEvent> events) override;
    void on_time(Instant now) override { work(now); }
    void on_abort(Instant now, const Error& why) override;
    void on_disk_waiting(Instant now) override;
    void on_all_listen(Instant now) override { work(now); }
    void next_sends(Instant now, SendBatch& batch) override;
    void next_operations(Instant now, OperationBatch& batch) override;
    [[nodiscard]] std::optional<Instant> deadline() const override;
    [[nodiscard]] const Outcome& outcome() const override { return outcome_; }

  private:
    /// A member's place in the tree of one stripe.
    struct Stripe {
        RelayTree tree;
        RelayParent parent;
        RelayChildren children;
        std::optional<Instant> pulse_at{};  ///< To the children.
    };

    void on_datagram(Instant now, const Datagram& datagram);
    void on_parent(Instant now, Stripe& stripe, const Datagram& datagram);
    void on_sign(Instant now, const wire::Pulse& pulse);
    void on_parent_holds(Instant now, std::uint32_t blocks);
    void on_child(Instant now, Stripe& stripe, const Datagram& datagram);
    void on_offer(Instant now, const wire::Offer& offer);
    void begin(const ObjectShape& shape);
    void on_ready(Instant now, Stripe& stripe, Rank child);
    void on_leave(const wire::Ending& leave);
    void on_release(Instant now, const wire::Ending& release, const Destination& from);
    void on_link(Instant now, const LinkEvent& event);
    void on_completion(Instant now, const Completion& completed);

    void work(Instant now);
    void forgive(Instant now, Duration away);
    void connect(Instant now);
    void connect(Instant now, Stripe& stripe);
    [[nodiscard]] wire::Pulse pulse_down(Instant now) const;
    [[nodiscard]] wire::Pulse pulse_up(const Stripe& stripe) const;
    void watch(Instant now);
    void watch_disk(Instant now);
    void watch_gain(Instant now);
    void watch_connections(Instant now);
    void request_blocks(Instant now);
    void send_request(const Stripe& stripe, const wire::Request& request);
    void report_done(Instant now);
    void order_finish();
    [[nodiscard]] bool is_being_dropped() const;
    void fail(Instant now, Error why);
    void end(Instant now, Phase phase);

    /// The tree by which all goes that is not of one stripe.
    [[nodiscard]] Stripe& first() { return stripes_.front(); }
    [[nodiscard]] const Stripe& first() const { return stripes_.front(); }
    [[nodiscard]] bool can_serve() const;
    [[nodiscard]] std::uint32_t own_blocks() const;
    [[nodiscard]] Duration round_trip() const;
    [[nodiscard]] std::optional<Instant> done_at() const;
    [[nodiscard]] std::optional<Instant> gainless_at() const;
    [[nodiscard]] std::optional<Instant> shut_out_at() const;
    [[nodiscard]] std::optional<Instant> unheard_at() const;
    [[nodiscard]] std::optional<Duration> disk_timeout() const;
    [[nodiscard]] bool is_over() const {
        return outcome_.phase == Phase::released || outcome_.phase == Phase::failed;
    }
    [[nodiscard]] bool wants_blocks() const {
        return outcome_.phase == Phase::moving && !config_.holds_already;
    }
    [[nodiscard]] bool may_request() const {
        return wants_blocks() || (outcome_.phase == Phase::wiring && reassembly_.has_begun() &&
                                  !config_.holds_already);
    }
    [[nodiscard]] bool lacks_blocks() const {
        return outcome_.phase == Phase::wiring ? !config_.holds_already
                                               : wants_blocks() && !is_finishing_;
    }

    CoreConfig config_;
    RelayLimits limits_;
    EndingLimits ending_;
    Outcome outcome_;
    Numbering numbers_;
    ControlQueue control_;
    Reassembly reassembly_;
    RelayRequests requests_;
    std::vector<Stripe> stripes_;
    RelayLag lag_;
    RelayDone done_;
    DiskWatch disk_watch_;
    std::uint32_t placed_before_ = 0;  ///< Chunks, when it was looked last.
    /// When this member last gained a chunk, or had no chance to.
    Instant gained_at_{};
    Instant source_at_{};  ///< The last sign of life from the source, as parents pass it on.
    bool was_source_heard_ = false;
    std::uint64_t waited_ = 0;  ///< Turns in which what it finishes waited for others.
    bool is_aside_ = false;
    bool is_started_ = false;
    Instant started_at_{};
    bool is_finishing_ = false;
    std::uint64_t object_bytes_ = 0;
    std::vector<std::byte> offer_body_;    ///< The body of the OFFER; empty before it came.
    std::map<Rank, wire::Ending> leaves_;  ///< LEAVEs of this member and from below.
    std::optional<wire::Ending> released_;
    std::optional<Instant> stays_until_;  ///< Once it is over.
};

}  // namespace stage::core
