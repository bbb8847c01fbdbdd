// Holds the pushes that were started on this node.
//
// A push lasts as long as the command that asked for it stays connected.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/push/push.h"
#include "stager/daemon/stage/registry.h"
#include "stager/push/cluster_targets.h"

#include <functional>
#include <map>
#include <memory>

namespace stage {

/// Pushes of this node at one time.
inline constexpr std::size_t kMaxPushes = 16;

class Pushes {
  public:
    using Answer = std::function<void(const stage::Answer&)>;
    using Asker = std::uint64_t;  ///< A connection of the control socket.

    /// Both arguments outlive the object.
    Pushes(Services& services, Registry& registry) : services_{services}, registry_{registry} {}
    Pushes(const Pushes&) = delete;
    Pushes& operator=(const Pushes&) = delete;
    ~Pushes() = default;

    void on_request(Asker asker, const PushRequest& request, Answer answer);
    void on_gone(Asker asker);
    /// Null if no such push is running here.
    [[nodiscard]] const PushPart* find(const StageKey& id) const;
    [[nodiscard]] std::vector<const PushPart*> all() const;

  private:
    struct Entry {
        std::vector<std::unique_ptr<PushPart>> parts;  ///< One for each cluster.
        std::size_t open = 0;
        Answer answer;
    };

    [[nodiscard]] std::unique_ptr<PushPart> part_of(const PushRequest& request,
                                                    const ClusterTargets& targets,
                                                    Asker asker);
    void on_done(Asker asker);

    Services& services_;
    Registry& registry_;
    std::map<Asker, Entry> pushes_;
};

}  // namespace stage
