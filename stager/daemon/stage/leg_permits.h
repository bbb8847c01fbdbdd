// Holds the legs that this gateway has agreed to take part in.
//
// A daemon of another cluster asks for a passage over a link that proves its cluster
// (daemon/gateway/passages.h). The leg's SETUP comes from the same daemon, with the token that
// it named then; another is refused.
#pragma once

#include "stager/daemon/run/worker_order.h"
#include "stager/daemon/tree/plan.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace stage {

struct LegPermit {
    PushToken token{};
    std::string source;  ///< "clustera/n0": the daemon that asked.
    std::string specs;
    RunPassage passage;
    std::function<void()> on_begin;  ///< The leg's SETUP has come.
    std::function<void(const Verdict&)> on_end;
};

class LegPermits {
  public:
    void grant(LegPermit permit) { permits_.push_back(std::move(permit)); }
    /// Takes the permit for the leg of `plan` whose SETUP came from `source`, if there is one.
    /// A leg joins no group of this cluster's: it goes by TCP.
    [[nodiscard]] std::optional<LegPermit> take(const std::string& source,
                                                const StagePlan& plan) {
        const auto found = std::ranges::find_if(permits_, [&](const LegPermit& one) {
            return one.token == plan.push_token && one.source == source &&
                   one.specs == plan.push_specs && plan.relays && plan.nodes.size() == 2 &&
                   plan.nodes.front().name == source;
        });
        if (found == permits_.end()) {
            return std::nullopt;
        }
        std::optional<LegPermit> taken{std::move(*found)};
        permits_.erase(found);
        return taken;
    }
    void withdraw(const PushToken& token) {
        std::erase_if(permits_, [&](const LegPermit& one) { return one.token == token; });
    }

  private:
    std::vector<LegPermit> permits_;
};

}  // namespace stage
