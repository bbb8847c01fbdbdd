// Tests what becomes of a push's nodes when rounds fail.
#include "stager/push/push_targets.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

using State = PushTarget::State;

PushTargets<PushTarget> three() {
    PushTargets<PushTarget> targets;
    for (const char* name : {"n0", "n1", "n2"}) {
        targets.push_back({.name = name, .state = State::fit});
    }
    return targets;
}

}  // namespace

TEST_CASE("a node that is left out of one round stays out, and the others finish") {
    auto targets = three();
    targets[0].state = State::failed;
    targets.begin_round();
    CHECK_FALSE(targets.leave_out(nullptr, "why"));
    CHECK_FALSE(targets.leave_out(&targets[0], "why"));
    CHECK(targets[0].why.empty());
    CHECK(targets.leave_out(&targets[1], "No space left on device"));
    CHECK(targets.may_begin_round());
    targets.begin_round();
    targets.finish_fit();
    CHECK_FALSE(targets.may_begin_round());
    const auto report = targets.report(7, 0.5, "");
    CHECK(report["nodes"] == 3);
    CHECK(report["done"] == 1);
    CHECK(report["rounds"] == 2);
    CHECK(report["failed"][1]["node"] == "n1");
    CHECK(report["failed"][1]["why"] == "No space left on device");
}

TEST_CASE("a node is done without a round if its content is the source's, and only then") {
    auto targets = three();
    CHECK_FALSE(targets.have_present());
    targets[0].present = {7, "00ff"};
    targets[1].present = {7, "00fe"};
    CHECK(targets.have_present());
    targets.finish_present(7, "");  // The source can't be read.
    targets.finish_present(8, "00ff");
    CHECK(targets.count(State::fit) == 3);
    targets.finish_present(7, "00ff");
    CHECK(targets.count(State::fit) == 2);
    const auto report = targets.report(7, 0.5, "");
    CHECK(report["done"] == 1);
    CHECK(report["unchanged"] == 1);
    CHECK(targets.called("n2") == &targets[2]);
    CHECK(targets.called("n3") == nullptr);
}

TEST_CASE("rounds are bounded, and what is left then fails together") {
    auto targets = three();
    targets[2].state = State::done;
    unsigned rounds = 0;
    for (; targets.may_begin_round(); ++rounds) {
        targets.begin_round();
    }
    CHECK(rounds == kMaxPushRounds);
    targets.fail_rest("too many rounds have failed");
    CHECK(targets.count(State::failed) == 2);
    CHECK(targets.count(State::done) == 1);
}

}  // namespace stage
