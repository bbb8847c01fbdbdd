// Tests how a group's way of exchanging cards follows from what is known of the group.
#include "pmix/wire_up_kind.h"

#include <catch2/catch.hpp>

namespace stage {

TEST_CASE("every combination of facts has one way to exchange cards") {
    constexpr std::size_t kFew = 2;
    constexpr std::size_t kMost = kMembersWithoutPmix - 1;
    struct Row {
        const char* of;
        WireUpFacts facts;  // PMIx, root, members
        WireUpKind kind;
    };
    constexpr Row kRows[] = {
        {"a job", {true, false, kFew}, WireUpKind::pmix},
        {"a large job", {true, false, kMost}, WireUpKind::pmix},
        {"a larger job", {true, false, kMost + 1}, WireUpKind::control_tree},
        {"a job on one node", {true, false, 1}, WireUpKind::control_tree},
        {"a job whose nodes have no PMIx host", {false, false, kFew}, WireUpKind::control_tree},
        {"root's job, and a push", {true, true, kFew}, WireUpKind::control_tree},
    };
    for (const Row& row : kRows) {
        INFO(row.of);
        CHECK(choose_wire_up(row.facts) == row.kind);
    }
}

}  // namespace stage
