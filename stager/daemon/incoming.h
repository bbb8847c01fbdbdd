// Accepts links of other daemons and hands each to the part that its first message names.
//
// A peer proves its identity (link.h) and then sends SETUP or a question; until that message
// arrives its link waits here, for a few seconds. Unauthorised peers are disconnected and
// counted.
#pragma once

#include "stager/daemon/base/basics.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"
#include "stager/link/listener.h"

#include <functional>
#include <list>
#include <memory>

namespace stage {

class Incoming {
    struct Token {};  ///< Only open() and the like make one.

  public:
    struct Handlers {
        /// Takes the link, or closes it.
        std::function<void(SetupMessage, std::unique_ptr<DrivenLink>)> on_setup;
        std::function<void(AskMessage, std::unique_ptr<DrivenLink>)> on_ask;
        std::function<void(ExamineMessage, std::unique_ptr<DrivenLink>)> on_examine;
        std::function<void(LeaseMessage, std::unique_ptr<DrivenLink>)> on_lease;
        std::function<void(FetchMessage, std::unique_ptr<DrivenLink>)> on_fetch;
        std::function<void(PassageMessage, std::unique_ptr<DrivenLink>)> on_passage;
        std::function<void(ImportMessage, std::unique_ptr<DrivenLink>)> on_import;
        /// What that user may know, as JSON.
        std::function<std::string(const ReportQuestion& question)> report;
    };

    /// All but `handlers` outlive the object.
    static Result<std::unique_ptr<Incoming>> open(const Basics& basics,
                                                  const LinkPolicy& policy,
                                                  Credentials& credentials,
                                                  Handlers handlers);
    Incoming(Token token, const Basics& basics, Listener listener, Handlers handlers);
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;
    ~Incoming();

    [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
    [[nodiscard]] std::uint64_t refused_total() const { return listener_.refused_total(); }

  private:
    struct PendingConnection {
        std::unique_ptr<DrivenLink> link;
        bool settled = false;
        Loop::TimerId timer = 0;
    };

    void on_connect();
    [[nodiscard]] std::list<PendingConnection>::iterator find(const DrivenLink* link);
    void on_change(const DrivenLink* link);
    void on_frame(std::list<PendingConnection>::iterator pending, Bytes frame);
    void hand_over(const TreeMessage& message, std::unique_ptr<DrivenLink> link);
    void remove(std::list<PendingConnection>::iterator pending);

    const Basics& basics_;
    Listener listener_;
    Handlers handlers_;
    std::list<PendingConnection> pending_;
};

}  // namespace stage
