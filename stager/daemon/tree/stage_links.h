// Holds the links of one stage to the other daemons, by rank.
//
// They are the links that this daemon made to nodes below it, and the one that its parent made
// to it. Frames are decoded here; a malformed message closes its link.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/link_dialer.h"
#include "stager/daemon/tree/tree_message.h"

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace stage {

class StageLinksOwner {
  public:
    StageLinksOwner() = default;
    StageLinksOwner(const StageLinksOwner&) = delete;
    StageLinksOwner& operator=(const StageLinksOwner&) = delete;
    virtual ~StageLinksOwner() = default;

    virtual void on_link_up(Rank rank) = 0;
    /// `why` has a cause if the network ended the link, and none if the peer closed it.
    virtual void on_link_down(Rank rank, const Error& why) = 0;
    virtual void on_link_message(Rank rank, TreeMessage message) = 0;
    /// The last link is closed.
    virtual void on_links_gone() = 0;
};

class StageLinks {
  public:
    /// All three outlive the object.
    StageLinks(const Basics& basics, LinkDialer& dialer, StageLinksOwner& owner)
        : basics_{basics}, dialer_{dialer}, owner_{owner} {}

    /// Begins to connect; on_link_up or on_link_down follows. Or the error: `host` is no
    /// numeric address.
    [[nodiscard]] Status connect(Rank rank, const std::string& name, const std::string& host);
    /// Takes an open link from an ancestor.
    void take(Rank rank, std::unique_ptr<DrivenLink> link);
    void send(Rank rank, const TreeMessage& message);
    /// Closes the link when what is queued has been sent; no on_link_down follows.
    void hang_up(Rank rank);
    [[nodiscard]] bool empty() const { return links_.empty() && leaving_.empty(); }

  private:
    struct Entry {
        std::unique_ptr<DrivenLink> link;
        bool is_up = false;
        std::optional<Error> objection{};  ///< Why its last message was refused.
    };

    void on_change(Rank rank, const DrivenLink* link);
    void read(Rank rank, const DrivenLink* link);
    void on_left(const DrivenLink* link);
    [[nodiscard]] Entry* find(Rank rank, const DrivenLink* link);

    const Basics& basics_;
    LinkDialer& dialer_;
    StageLinksOwner& owner_;
    std::map<Rank, Entry> links_;
    std::list<std::unique_ptr<DrivenLink>> leaving_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stage
