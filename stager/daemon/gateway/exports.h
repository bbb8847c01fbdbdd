// Sends files of this cluster to jobs of other clusters: this node is a gateway.
//
// The daemon of the job's first node asks over a link that both clusters' key proves (IMPORT),
// with a ticket that the owner of the files got on this cluster. A worker with that user's
// rights looks at the files, and the answer says how much they are (EXPORT). If the job still
// wants them, a leg begins over the same link: a stage of two members, whose source here is
// another worker of that user. No file is opened with more rights than the user has.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/gateway/tickets.h"
#include "stager/daemon/push/local_preflight.h"
#include "stager/daemon/stage/push_stages.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"

#include <list>
#include <memory>
#include <string>

namespace stage {

/// Exports at one time, of one user half of them; others wait.
inline constexpr std::size_t kMaxExports = 16;
/// Beyond that an import is refused.
inline constexpr std::size_t kMaxWaitingExports = 512;

class Exports {
  public:
    /// All three outlive the object.
    Exports(Services& services, PushStages& stages, const Tickets& tickets);
    Exports(const Exports&) = delete;
    Exports& operator=(const Exports&) = delete;
    ~Exports() = default;

    void on_import(const ImportMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct Entry {
        ImportMessage message;
        ReadTicket ticket;
        std::unique_ptr<DrivenLink> link;  ///< Until it is the leg's.
        std::unique_ptr<LocalPreflight> look;
        std::unique_ptr<Alarm> pulse;  ///< While it waits, or the files are looked at.
        std::unique_ptr<Alarm> limit;  ///< For the job's consent, then for the leg.
        std::optional<StageKey> leg;
        bool has_begun = false;
        bool has_answered = false;
        bool is_over = false;
    };
    using Place = std::list<Entry>::iterator;

    [[nodiscard]] Result<ReadTicket> allowed(const ImportMessage& message,
                                             const std::string& source) const;
    void begin_waiting();
    [[nodiscard]] bool has_place(std::uint32_t uid) const;
    void begin(Place entry);
    void on_look(Place entry, const Result<WorkerLook>& look);
    void on_change(Place entry);
    void begin_leg(Place entry);
    void on_late(Place entry);
    void forget(Place entry);

    Services& services_;
    const Basics& basics_;
    PushStages& stages_;
    const Tickets& tickets_;
    std::list<Entry> entries_;
};

/// Why `specs` can't be sent with that ticket to a job that says `cluster` has its files, or
/// nothing. `own`: this cluster's name.
[[nodiscard]] std::optional<Error> objection_to_import(const std::string& specs,
                                                       const ReadTicket& ticket,
                                                       const std::string& own);

}  // namespace stage
