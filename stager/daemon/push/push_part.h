// The part of a push that goes to one cluster: to this one's nodes (push.h), or over a leg to
// another's (daemon/gateway/leg_push.h).
#pragma once

#include "stager/control/message.h"

#include <nlohmann/json.hpp>
#include <string>

namespace stage {

class PushPart {
  public:
    PushPart() = default;
    PushPart(const PushPart&) = delete;
    PushPart& operator=(const PushPart&) = delete;
    virtual ~PushPart() = default;

    virtual void begin() = 0;
    /// Ends the part on all nodes; its on_done follows.
    virtual void cancel(const std::string& why) = 0;

    [[nodiscard]] virtual const StageKey& id() const = 0;
    /// The progress, and at the end the result.
    [[nodiscard]] virtual nlohmann::json report() const = 0;
};

}  // namespace stage
