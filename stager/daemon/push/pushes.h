// Holds the pushes that were started on this node.
//
// A push lasts as long as the command that asked for it stays connected.
#pragma once

#include "stager/daemon/base/services.h"
#include "stager/daemon/push/push.h"
#include "stager/daemon/stage/registry.h"

#include <functional>
#include <map>
#include <memory>

namespace stage {

/// Pushes of this node at one time.
inline constexpr std::size_t kMaxPushes = 16;

class Pushes final : private PushStages {
  public:
    using Answer = std::function<void(const stage::Answer&)>;
    using Asker = std::uint64_t;  ///< A connection of the control socket.

    /// Both arguments outlive the object.
    Pushes(Services& services, Registry& registry) : services_{services}, registry_{registry} {}
    Pushes(const Pushes&) = delete;
    Pushes& operator=(const Pushes&) = delete;
    ~Pushes() override = default;

    void on_request(Asker asker, const PushRequest& request, Answer answer);
    void on_gone(Asker asker);
    /// Null if no such push is running here.
    [[nodiscard]] const Push* find(const StageKey& id) const;
    [[nodiscard]] std::vector<const Push*> all() const;

  private:
    struct Entry {
        std::unique_ptr<Push> push;
        Answer answer;
    };

    void push(const StageKey& key, const StagePlan& plan, Stage::OnVerdict on_verdict) override;
    [[nodiscard]] Stage* find(const StageKey& key) override;
    void on_done(Asker asker);

    Services& services_;
    Registry& registry_;
    std::map<Asker, Entry> pushes_;
};

}  // namespace stage
