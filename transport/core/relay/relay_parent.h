// Chooses the ancestor from which a member of a relay receives a stripe, and stays connected.
//
// A member connects to its parent. If the connection cannot be made or ends, the parent lacks
// blocks that the member needs, or nothing is heard of it for RelayLimits::silence, the member
// connects to the next ancestor: the parent's parent, and at last the source. After the source
// it begins again with its parent, more slowly each time. Neighbours can fail together, for
// instance a rack: after two in a row that never answered the member skips some, each time
// more of them. An ancestor that was left for another one is not returned to while that one
// serves. One whose path carries short packets only is connected to again. If the parent
// connects to this member, the member goes on to the next ancestor: two members that take each
// other for their parent would hang. A member that steps aside has the last place of the chain
// as its first ancestor, and those of that place after it.
#pragma once

#include "transport/base/link_event.h"
#include "transport/core/base/contract.h"
#include "transport/core/relay/relay_limits.h"
#include "transport/core/relay/relay_tree.h"
#include "transport/core/sending/control_queue.h"

#include <algorithm>
#include <optional>

namespace stage::core {

class RelayParent {
  public:
    /// Requires config.own != tree.source.
    RelayParent(const CoreConfig& config, const RelayLimits& limits, const RelayTree& tree);

    void start(Instant now);
    [[nodiscard]] Rank rank() const { return rank_; }
    /// The connection to it.
    [[nodiscard]] Destination where() const { return where(rank_); }
    /// True if it is the one that the tree gives this member.
    [[nodiscard]] bool is_first() const { return place_ == tree_.parent(own_place_); }
    /// True for a packet of the present parent.
    bool on_packet(Instant now, Rank from);
    /// A member connected to this one. If it was the parent, it is a child from now on: its
    /// connection has taken the place of the one to it.
    void on_ready(Instant now, Rank child);
    /// The connection to the parent ended.
    void on_link(Instant now, const LinkEvent& event);
    /// The parent cannot give what this member needs.
    void leave(Instant now);
    /// From now on the last member of the chain is the parent. Requires that this is another.
    void step_aside(Instant now);

    /// This member was away for that long: the parent is not to blame.
    void forgive(Instant now, Duration absence) {
        heard_at_ = std::min(heard_at_ + absence, now);
    }
    /// Connects, when that is due, by a READY.
    void poll(Instant now, ControlQueue& out);
    /// There is something new to say of the members below: the next PULSE is due now, or as
    /// soon as limits.pulse_min allows it.
    void hurry(Instant now);
    /// True if a PULSE to the parent is due.
    [[nodiscard]] bool take_pulse(Instant now);
    /// The parent to which a connection is to be begun, before READY goes there.
    [[nodiscard]] std::optional<Destination> take_connect();
    /// True once after each READY: the new parent does not know what this member needs.
    [[nodiscard]] bool take_connected();
    /// A parent that was left: its connection is to be closed.
    [[nodiscard]] std::optional<Destination> take_left();

    /// True if packets may be sent to the present parent.
    [[nodiscard]] bool is_connected() const { return is_connected_; }
    /// True if the present parent has answered: it can be sent requests.
    [[nodiscard]] bool is_heard() const { return is_heard_; }
    /// True if every ancestor has been tried, and no connection to one could be made so far. (A
    /// parent that is not ready yet answers nothing, but its host takes the connection.)
    [[nodiscard]] bool is_shut_out() const { return has_tried_all_ && !has_stood_; }
    [[nodiscard]] std::optional<Instant> deadline() const;
    /// The longest RTT to a parent so far.
    [[nodiscard]] Duration round_trip() const { return round_trip_; }
    /// Connects to none any more, and leaves the present one.
    void give_up();
    /// Connects to none any more.
    void stop();

  private:
    [[nodiscard]] bool is_refused_once();
    void choose_next(Instant now);
    void connect_to(Rank rank, Instant at);
    [[nodiscard]] Instant silent_at() const;
    [[nodiscard]] Destination where(Rank rank) const {
        return {.to_group = false, .peer = rank, .flow = flow_of(tree_)};
    }

    RelayLimits limits_;
    RelayTree tree_;
    std::uint32_t own_place_;
    std::uint32_t place_;  ///< The place of the present parent.
    Rank rank_;
    /// Ancestors in a row, up to the present one, without an answer.
    std::uint32_t silent_ = 0;
    bool is_aside_ = false;
    bool has_tried_all_ = false;
    bool has_stood_ = false;     ///< A connection to a parent.
    bool was_refused_ = false;   ///< By the source, before one stood.
    bool is_connected_ = false;  ///< READY was sent.
    bool is_heard_ = false;
    bool tells_connected_ = false;
    std::optional<Rank> left_;
    std::optional<Rank> connect_;
    Duration round_trip_{};
    Instant heard_at_{};
    Instant tried_at_{};
    std::optional<Instant> connect_at_;
    std::optional<Instant> pulse_at_;
    Instant pulsed_at_{};
    Duration retry_;
};

}  // namespace stage::core
