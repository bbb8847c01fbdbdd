#include "tests/sim/plan/minimise.h"

#include "tests/sim/plan/plan_fields.h"

#include <algorithm>
#include <utility>

namespace stage::sim {
namespace {

class Minimiser {
  public:
    Minimiser(Plan plan, const std::function<bool(const Plan&)>& fails, unsigned tries)
        : plan_{std::move(plan)}, fails_{fails}, tries_{tries} {}

    Plan run() {
        bool has_changed = true;
        while (has_changed && tries_ > 0) {
            has_changed = fewer_members();
            has_changed = fewer_blocks() || has_changed;
            has_changed = drop_each(&Plan::strikes) || has_changed;
            has_changed = drop_each(&Plan::partitions) || has_changed;
            has_changed = drop_each(&Plan::flows) || has_changed;
            has_changed = drop_each(&Plan::rail_faults) || has_changed;
            has_changed = reset_faults() || has_changed;
            has_changed = reset_settings() || has_changed;
            has_changed = shorten_partitions() || has_changed;
        }
        return plan_;
    }

  private:
    /// Keeps the change if the plan still fails.
    bool keep(Plan changed) {
        if (tries_ == 0) {
            return false;
        }
        --tries_;
        if (!fails_(changed)) {
            return false;
        }
        plan_ = std::move(changed);
        return true;
    }

    template <class Each>
    bool drop_each(std::vector<Each> Plan::*list) {
        bool any = false;
        for (std::size_t i = (plan_.*list).size(); i-- > 0;) {
            Plan changed = plan_;
            (changed.*list).erase((changed.*list).begin() + static_cast<std::ptrdiff_t>(i));
            any = keep(std::move(changed)) || any;
        }
        return any;
    }

    /// Half of those that can go, then one.
    bool fewer_members() {
        bool any = false;
        for (std::uint16_t many = plan_.members / 2U; many > 0;) {
            if (plan_.members - many < 2 || !keep(without_last(many))) {
                many /= 2U;
            } else {
                any = true;
            }
        }
        return any;
    }

    /// Without the members of the highest ranks, except the source.
    [[nodiscard]] Plan without_last(std::uint16_t many) const {
        Plan changed = plan_;
        for (; many > 0; --many) {
            const auto last = static_cast<std::uint16_t>(changed.members - 1);
            if (changed.source == last) {
                changed.source = static_cast<std::uint16_t>(last - 1);
                std::swap(changed.member[last], changed.member[last - 1U]);
            }
            changed.member.pop_back();
            --changed.members;
            for (Partition& partition : changed.partitions) {
                std::erase(partition.members, last);
            }
            std::erase_if(changed.flows, [last](const FlowPlan& flow) {
                return flow.to == last || flow.from == last;
            });
            std::erase_if(changed.rail_faults,
                          [last](const RailFault& fault) { return fault.of == last; });
            std::erase_if(changed.strikes, [last](const Strike& strike) {
                return strike.member == last || strike.of == last;
            });
        }
        return changed;
    }

    bool fewer_blocks() {
        bool any = false;
        while (plan_.block_bytes.size() > 1) {
            Plan changed = plan_;
            changed.block_bytes.resize(plan_.block_bytes.size() / 2);
            const auto blocks = static_cast<std::uint32_t>(changed.block_bytes.size());
            for (MemberPlan& member : changed.member) {
                std::erase_if(member.held_before, [blocks](const core::BlockRun& run) {
                    return run.first.value() + run.count > blocks;
                });
            }
            if (!keep(std::move(changed))) {
                break;
            }
            any = true;
        }
        return any;
    }

    bool reset_faults() {
        bool any = false;
        for (std::size_t rank = 0; rank < plan_.member.size(); ++rank) {
            any = reset_each(
                      [rank](Plan& plan, const auto& visit) {
                          for_each_fault(plan.member[rank], visit);
                      },
                      [](const auto& visit) {
                          const MemberPlan standard{};
                          for_each_fault(standard, visit);
                      }) ||
                  any;
        }
        return any;
    }

    bool reset_settings() {
        return reset_each([](Plan& plan, const auto& visit) { for_each_setting(plan, visit); },
                          [](const auto& visit) {
                              const Plan standard{};
                              for_each_setting(standard, visit);
                          });
    }

    /// One field after the other as in a standard one.
    template <class ForEach, class ForEachStandard>
    bool reset_each(const ForEach& for_each, const ForEachStandard& for_each_standard) {
        std::size_t fields = 0;
        for_each(plan_, [&fields](const char*, const auto&) { ++fields; });
        bool any = false;
        for (std::size_t field = 0; field < fields; ++field) {
            Plan changed = plan_;
            bool differs = false;
            std::size_t at = 0;
            for_each(changed, [&](const char*, auto& value) {
                if (at++ == field) {
                    differs = reset(value, field, for_each_standard);
                }
            });
            any = (differs && keep(std::move(changed))) || any;
        }
        return any;
    }

    template <class Value, class ForEachStandard>
    static bool reset(Value& value, std::size_t field, const ForEachStandard& for_each) {
        bool differs = false;
        std::size_t at = 0;
        for_each([&](const char*, const auto& usual) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(usual)>, Value>) {
                if (at == field && value != usual) {
                    differs = true;
                    value = usual;
                }
            }
            ++at;
        });
        return differs;
    }

    bool shorten_partitions() {
        bool any = false;
        for (std::size_t i = 0; i < plan_.partitions.size(); ++i) {
            Plan changed = plan_;
            Partition& one = changed.partitions[i];
            one.end = one.begin + (one.end - one.begin) / 2;
            any = (one.end - one.begin > milliseconds{1} && keep(std::move(changed))) || any;
        }
        return any;
    }

    Plan plan_;
    const std::function<bool(const Plan&)>& fails_;
    unsigned tries_;
};

}  // namespace

Plan minimise(Plan plan, const std::function<bool(const Plan&)>& fails, unsigned tries_max) {
    return Minimiser{std::move(plan), fails, tries_max}.run();
}

}  // namespace stage::sim
