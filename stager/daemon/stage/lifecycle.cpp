#include "stager/daemon/stage/lifecycle.h"

namespace stage {
namespace {

using S = StageState;
using A = StageAction;
using Row = std::array<StageStep, kStageEvents>;

// clang-format off
constexpr std::array<Row, kStageStates> kTable{{
    // fresh
    {{ {S::announced, A::await_plan},       // announce
       {S::held, A::hold},                  // plan
       {S::fresh, A::nothing},              // started
       {S::fresh, A::nothing},              // done
       {S::settled, A::give_up},            // failed
       {S::fresh, A::nothing},              // gone
       {S::settled, A::settle},             // verdict: with the plan, over the same link
       {S::ended, A::nothing} }},           // end
    // announced
    {{ {S::announced, A::nothing},
       {S::starting, A::start},
       {S::announced, A::nothing},
       {S::announced, A::nothing},
       {S::settled, A::give_up},
       {S::announced, A::nothing},
       {S::settled, A::settle},
       {S::ended, A::abandon} }},
    // held
    {{ {S::starting, A::start},
       {S::held, A::nothing},
       {S::held, A::nothing},
       {S::held, A::nothing},
       {S::reported, A::report_failure},
       {S::held, A::nothing},
       {S::settled, A::settle},
       {S::ended, A::abandon} }},
    // starting
    {{ {S::starting, A::nothing},
       {S::starting, A::nothing},
       {S::running, A::nothing},
       {S::reported, A::report_outcome},    // Arrives before the event of its start.
       {S::reported, A::report_failure},
       {S::reported, A::report_failure},
       {S::settled, A::settle},
       {S::ended, A::abandon} }},
    // running
    {{ {S::running, A::nothing},
       {S::running, A::nothing},
       {S::running, A::nothing},
       {S::reported, A::report_outcome},
       {S::reported, A::report_failure},
       {S::reported, A::report_failure},
       {S::settled, A::settle},
       {S::ended, A::abandon} }},
    // reported
    {{ {S::reported, A::nothing},
       {S::reported, A::nothing},
       {S::reported, A::nothing},
       {S::reported, A::nothing},
       {S::reported, A::nothing},
       {S::reported, A::nothing},
       {S::settled, A::settle},
       {S::ended, A::abandon} }},
    // settled
    {{ {S::settled, A::answer},
       {S::settled, A::nothing},
       {S::settled, A::nothing},
       {S::settled, A::nothing},
       {S::settled, A::nothing},
       {S::settled, A::nothing},
       {S::settled, A::nothing},
       {S::ended, A::clean_up} }},
    // ended
    {{ {S::ended, A::answer},
       {S::ended, A::nothing},
       {S::ended, A::nothing},
       {S::ended, A::nothing},
       {S::ended, A::nothing},
       {S::ended, A::nothing},
       {S::ended, A::nothing},
       {S::ended, A::nothing} }},
}};
// clang-format on

}  // namespace

StageStep next_step(StageState state, StageEvent event) {
    return kTable.at(static_cast<std::size_t>(state)).at(static_cast<std::size_t>(event));
}

std::string_view to_string(StageState state) {
    constexpr std::array<std::string_view, kStageStates> kNames{
        "fresh", "announced", "held", "starting", "running", "reported", "settled", "ended"};
    return kNames.at(static_cast<std::size_t>(state));
}

std::string_view to_string(StageEvent event) {
    constexpr std::array<std::string_view, kStageEvents> kNames{
        "announce", "plan", "started", "done", "failed", "gone", "verdict", "end"};
    return kNames.at(static_cast<std::size_t>(event));
}

}  // namespace stage
