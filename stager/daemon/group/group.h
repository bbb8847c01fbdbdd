// Brings the daemons of one stage to one common verdict.
//
// There is one object per stage and node. The daemons form a tree (neighbour_links.h), gather
// what their workers contribute (collectives.h), and agree on the verdict (decision.h). This
// class hands each event to the part that it concerns.
//
// The class does no I/O: events, the clock and random values are passed in, and after each call
// take_commands() returns what is to be done. So a test can run a whole group, and fail nodes
// at any moment.
#pragma once

#include "stager/daemon/group/collectives.h"
#include "stager/daemon/group/decision.h"
#include "stager/daemon/group/group_seat.h"
#include "stager/daemon/group/neighbour_links.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stage {

class Group {
  public:
    /// `deadline`: when the root declares that the stage has timed out. A node that has
    /// received no verdict a margin later decides for itself.
    Group(GroupSeat seat, GroupTimes times, Instant now, Instant deadline);
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group() = default;

    /// A SETUP arrived over a link from `from`. False if `from` is neither the parent nor
    /// another ancestor.
    [[nodiscard]] bool on_parent(Instant now, Rank from);
    void on_link_up(Instant now, Rank to);
    /// `why` has a cause if the network ended the link, and none if its peer closed it.
    void on_link_down(Instant now, Rank rank, const Error& why);
    /// False if `from` may not send that message: the link must be closed.
    [[nodiscard]] bool on_message(Instant now, Rank from, TreeMessage message);

    /// Adds this node's contribution to a collective. One of an earlier epoch has no effect,
    /// nor has a second one.
    void contribute(Instant now,
                    Collective kind,
                    std::uint32_t sequence,
                    std::vector<std::byte> bytes);
    /// This node has failed, with `blame` and a message without the node's name.
    void fail(Instant now, Blame blame, std::string sentence);
    /// Does what fail() does, but another rank is to blame.
    void fail(Instant now, Failure failure) { decision_.fail(now, std::move(failure)); }
    /// Calls Decision's.
    void drop(Instant now, const Failure& failure) { decision_.drop(now, failure); }
    void name_awaited(Instant now, Blame blame, const std::string& why) {
        decision_.name_awaited(now, blame, why);
    }
    void decide_now(Instant now) { decision_.decide_now(now); }
    /// PMIx can't exchange the cards on this node: asks that the daemons do it. Asking again
    /// has no effect; if some node has already finished its part, it is too late, and the stage
    /// fails with `why`.
    void request_direct(Instant now, const std::string& why);
    /// This node can't open the group's port: asks that another one is drawn. `taken`: the
    /// ports that other programs use here; `why`: the failure if no port helps.
    void request_port(Instant now, std::vector<std::uint16_t> taken, const std::string& why);
    /// At the root: sets the group's new port.
    void begin_at(std::uint16_t port);

    /// Sets this node's own progress, for the next pulse.
    void set_progress(TreeProgress own) { own_progress_ = own; }
    /// The progress of this node and all below it, as last reported; at the root, of all.
    [[nodiscard]] TreeProgress progress() const;

    void on_time(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const;
    [[nodiscard]] std::vector<group::Command> take_commands() { return links_.take_commands(); }

    [[nodiscard]] const std::optional<GroupVerdict>& verdict() const {
        return decision_.verdict();
    }
    /// The verdict is known here and, as far as possible, below: no link is needed any more.
    [[nodiscard]] bool is_finished() const { return decision_.is_finished(); }
    [[nodiscard]] const GroupSeat& seat() const { return seat_; }
    /// The failures that are known here.
    [[nodiscard]] const Failures& failures() const { return decision_.failures(); }

  private:
    [[nodiscard]] bool from_above(Instant now, TreeMessage& message);
    [[nodiscard]] bool from_below(Instant now, Rank from, TreeMessage& message);
    void request_port(Instant now, PortsMessage asked, const std::string& why);
    void after_links(Instant now);
    void notice_pause(Instant now);
    void end_doubt(Instant now);
    void pulse(Instant now);

    GroupSeat seat_;
    GroupTimes times_;
    NeighbourLinks links_;
    Collectives collectives_;
    Decision decision_;
    Instant deadline_;
    Instant pulse_at_;
    TreeProgress own_progress_;
    std::map<Rank, TreeProgress> progress_below_;
};

}  // namespace stage
