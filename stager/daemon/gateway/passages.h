// Carries pushes of other clusters on to nodes of this one: this node is a gateway.
//
// A daemon of another cluster asks over a link that both clusters' key proves (PASSAGE). If
// AcceptFrom names the cluster, and there is room, the gateway makes the file of the passage
// and begins a push of its own, which checks the nodes. Then the leg may begin: its worker here
// fills the file, and that of the push sends on what is in it. Both run as a user without
// rights. The link stays until the push's end, which is reported on it; if it ends before, so
// does the push.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/push/push.h"
#include "stager/daemon/tree/driven_link.h"
#include "stager/daemon/tree/tree_message.h"
#include "stager/spawn/request.h"
#include "transport/run/passage/passage.h"

#include <list>
#include <memory>
#include <optional>
#include <string>

namespace stage {

/// Passages at one time; another cluster's push beyond that is refused.
inline constexpr std::size_t kMaxPassages = 16;

class Passages {
  public:
    /// Both references outlive the object.
    Passages(Services& services, PushStages& stages);
    Passages(const Passages&) = delete;
    Passages& operator=(const Passages&) = delete;
    ~Passages() = default;

    void on_passage(const PassageMessage& message, std::unique_ptr<DrivenLink> link);

  private:
    struct Entry {
        PassageMessage message;
        std::string source;  ///< "clustera/n0"
        std::unique_ptr<DrivenLink> link;
        std::optional<Passage> passage;
        std::unique_ptr<Push> push;
        std::unique_ptr<Alarm> pulse;
        std::unique_ptr<Alarm> digest_due;  ///< From the question for it.
        std::unique_ptr<Alarm> leg_due;     ///< Until the leg has begun.
        bool is_leg_over = false;
        bool is_push_over = false;
    };
    using Place = std::list<Entry>::iterator;

    [[nodiscard]] std::optional<std::string> objection_to(const PassageMessage& message,
                                                          const std::string& source) const;
    void begin(Place entry, const std::shared_ptr<const UniqueFd>& file);
    void on_present(Place entry);
    void on_asked(Place entry, const std::shared_ptr<const UniqueFd>& file);
    void on_leg_end(Place entry, const Verdict& verdict);
    void on_push_end(Place entry);
    void on_change(Place entry);
    void fail_leg(Place entry, const std::string& reason);
    [[nodiscard]] static bool goes_on_alone(const Entry& entry);
    void forget(Place entry);

    Services& services_;
    const Basics& basics_;
    PushStages& stages_;
    std::list<Entry> entries_;
};

}  // namespace stage
