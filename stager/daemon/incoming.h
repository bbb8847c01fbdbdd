// Which stage is a new link about?
//
// Whoever connects proves itself (link.h) and says SETUP, or asks; until then its link waits
// here, briefly. Strangers end here and are counted.
#pragma once

#include "stager/daemon/driven_link.h"
#include "stager/daemon/services.h"
#include "stager/daemon/tree_message.h"
#include "stager/link/listener.h"

#include <functional>
#include <list>
#include <memory>

namespace stage {

class Incoming {
    struct Token {};  ///< Only open() and the like make one.

  public:
    /// Takes the link, or drops it.
    using OnSetup = std::function<void(SetupMessage, std::unique_ptr<DrivenLink>)>;

    /// Whether the plugin of this node has announced that stage.
    using IsAnnounced = std::function<bool(const StageKey& key)>;

    /// `services` outlives it.
    static Result<std::unique_ptr<Incoming>> open(Services& services,
                                                  OnSetup on_setup,
                                                  IsAnnounced is_announced);
    Incoming(Token token,
             Services& services,
             Listener listener,
             OnSetup on_setup,
             IsAnnounced is_announced);
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;
    ~Incoming();

    [[nodiscard]] std::uint64_t strangers_total() const { return listener_.strangers_total(); }

  private:
    struct Guest {
        std::unique_ptr<DrivenLink> link;
        bool settled = false;
        Loop::TimerId timer = 0;
    };

    void on_connect();
    void on_change(const DrivenLink* link);
    void on_frame(std::list<Guest>::iterator guest, Bytes frame);
    void remove(std::list<Guest>::iterator guest);

    Services& services_;
    Listener listener_;
    OnSetup on_setup_;
    IsAnnounced is_announced_;
    std::list<Guest> guests_;
};

}  // namespace stage
