#include "stager/daemon/stage/lifecycle.h"

#include <catch2/catch.hpp>

#include <set>
#include <vector>

using namespace stage;

namespace {

template <class Visit>
void for_every_pair(Visit visit) {
    for (std::size_t state = 0; state < kStageStates; ++state) {
        for (std::size_t event = 0; event < kStageEvents; ++event) {
            visit(static_cast<StageState>(state), static_cast<StageEvent>(event));
        }
    }
}

bool tells_group(StageAction action) {
    return action == StageAction::report_outcome || action == StageAction::report_failure;
}

StageState after(std::initializer_list<StageEvent> events) {
    StageState state = StageState::fresh;
    for (const StageEvent event : events) {
        state = next_step(state, event).next;
    }
    return state;
}

}  // namespace

TEST_CASE("no event takes a stage back, and what is over stays over") {
    for_every_pair([](StageState state, StageEvent event) {
        CAPTURE(to_string(state), to_string(event));
        const StageStep step = next_step(state, event);
        CHECK(step.next >= (state == StageState::held ? StageState::held : state));
        if (!is_open(state)) {
            CHECK(!is_open(step.next));
        }
    });
}

TEST_CASE("every waiting state is left by a failure, a verdict and the end") {
    for_every_pair([](StageState state, StageEvent event) {
        CAPTURE(to_string(state), to_string(event));
        const StageStep step = next_step(state, event);
        if (event == StageEvent::end) {
            CHECK(step.next == StageState::ended);
        }
        if (event == StageEvent::verdict && is_open(state)) {
            CHECK(step == StageStep{StageState::settled, StageAction::settle});
        }
        if (event == StageEvent::failed && is_open(state)) {
            CHECK((step.next == StageState::reported || step.next == StageState::settled));
        }
    });
}

TEST_CASE("a worker is started once: after both the announcement and the plan") {
    for_every_pair([](StageState state, StageEvent event) {
        CAPTURE(to_string(state), to_string(event));
        const bool both = (state == StageState::announced && event == StageEvent::plan) ||
                          (state == StageState::held && event == StageEvent::announce);
        CHECK((next_step(state, event).action == StageAction::start) == both);
    });
    CHECK(after({StageEvent::plan}) == StageState::held);
    CHECK(after({StageEvent::plan, StageEvent::plan, StageEvent::started}) == StageState::held);
}

TEST_CASE("a node reports at most once on any path, and settles at most once") {
    // All paths through the table, a state's history being whether it has reported and settled.
    struct Node {
        StageState state;
        bool reported;
        bool settled;
        auto operator<=>(const Node&) const = default;
    };
    std::set<Node> seen;
    std::vector<Node> open{{StageState::fresh, false, false}};
    while (!open.empty()) {
        const Node at = open.back();
        open.pop_back();
        if (!seen.insert(at).second) {
            continue;
        }
        for (std::size_t event = 0; event < kStageEvents; ++event) {
            const StageStep step = next_step(at.state, static_cast<StageEvent>(event));
            CAPTURE(to_string(at.state), to_string(static_cast<StageEvent>(event)));
            const bool settles = step.action == StageAction::settle ||
                                 step.action == StageAction::give_up ||
                                 step.action == StageAction::abandon;
            CHECK_FALSE((at.reported && tells_group(step.action)));
            CHECK_FALSE((at.settled && settles));
            open.push_back(
                {step.next, at.reported || tells_group(step.action), at.settled || settles});
        }
    }
}

TEST_CASE("a late announcement is answered from what is known") {
    CHECK(next_step(StageState::settled, StageEvent::announce).action == StageAction::answer);
    CHECK(next_step(StageState::ended, StageEvent::announce).action == StageAction::answer);
}

TEST_CASE("the good life of a stage") {
    using E = StageEvent;
    CHECK(after({E::announce}) == StageState::announced);
    CHECK(after({E::announce, E::plan}) == StageState::starting);
    CHECK(after({E::announce, E::plan, E::started}) == StageState::running);
    CHECK(after({E::announce, E::plan, E::started, E::done}) == StageState::reported);
    CHECK(after({E::announce, E::plan, E::started, E::done, E::verdict, E::gone}) ==
          StageState::settled);
    // Both came over the link at once, before the plugin did.
    CHECK(after({E::verdict, E::plan, E::announce}) == StageState::settled);
    CHECK(after({E::announce, E::plan, E::started, E::done, E::verdict, E::gone, E::end}) ==
          StageState::ended);
}
