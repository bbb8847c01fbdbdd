// Chooses the policy that sets the source's rate.
//
// `quantile` follows what most receivers take (pace_search.h), and `acker` follows the slowest
// one (acker_window.h). PaceSearch also handles a configured rate.
#pragma once

#include "transport/core/rate/acker_window.h"
#include "transport/core/rate/pace_search.h"

#include <variant>

namespace stage::core {

class RateControl {
  public:
    RateControl(const CoreConfig& config, const Limits& limits)
        : policy_{std::in_place_type<PaceSearch>, config, limits} {
        if (config.policies.rate == RatePolicy::acker && config.rate_bytes_per_s == 0) {
            policy_.emplace<AckerWindow>(config, limits);
        }
    }

    void on_report(Instant now, Rank from, const wire::Report& report) {
        std::visit([&](auto& policy) { policy.on_report(now, from, report); }, policy_);
    }
    void on_sends(Instant now, std::span<const Send> sends) {
        std::visit([&](auto& policy) { policy.on_sends(now, sends); }, policy_);
    }
    /// Called during the first pass. Begins when there is something to send.
    void poll(Instant now, Pacer& pacer, bool has_data) {
        std::visit([&](auto& policy) { policy.poll(now, pacer, has_data); }, policy_);
    }
    /// The source drew other representatives. (The acker is the slowest that reports.)
    void represent(const std::vector<Rank>& ranks) {
        if (auto* search = std::get_if<PaceSearch>(&policy_)) {
            search->represent(ranks);
        }
    }
    /// Multicast does not reach the member, or reaches it again; or it was dropped.
    void set_away(Rank rank, bool is_away) {
        if (auto* search = std::get_if<PaceSearch>(&policy_)) {
            search->set_away(rank, is_away);
        }
    }
    [[nodiscard]] std::optional<Instant> deadline() const {
        return std::visit([](const auto& policy) { return policy.deadline(); }, policy_);
    }
    [[nodiscard]] bool may_send() const {
        return std::visit([](const auto& policy) { return policy.may_send(); }, policy_);
    }
    /// The estimated capacity of the path, bytes per second; 0: not known.
    [[nodiscard]] std::uint64_t capacity() const {
        return std::visit([](const auto& policy) { return policy.capacity(); }, policy_);
    }

  private:
    std::variant<PaceSearch, AckerWindow> policy_;
};

}  // namespace stage::core
