// Holds the legs that this node has agreed to receive.
//
// A daemon of another cluster has asked for a passage (daemon/gateway/passages.h), or was asked
// for a job's files (import.h), over a link that proves its cluster. The leg's SETUP comes from
// the same daemon, with the token that was named then; another is refused.
#pragma once

#include "stager/daemon/run/worker_order.h"
#include "stager/daemon/tree/plan.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace stage {

/// A leg that has begun here.
struct BegunLeg {
    std::function<void(const std::string& why)> break_off;  ///< Its on_end follows.
    std::function<bool()> is_gone;                          ///< No process of it is left.
};

struct LegPermit {
    PushToken token{};
    std::string source;  ///< "clustera/n0": the other daemon.
    std::string specs;
    RunPassage passage;
    std::function<void(BegunLeg)> on_begin;  ///< The leg's SETUP has come.
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
