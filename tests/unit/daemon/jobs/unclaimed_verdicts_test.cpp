// Tests that a node keeps a limited number of verdicts of stages that are not its own.
#include "stager/daemon/jobs/unclaimed_verdicts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace std::chrono_literals;

namespace {

StageKey key_of(std::uint32_t job, std::uint32_t step = kWholeJob) {
    return {.job_id = job, .step_id = step, .restart = 0};
}

UnclaimedVerdicts::Entry entry(const StageKey& key, std::string sentence, Instant until) {
    return {.key = key,
            .verdict = {.state = VerdictState::failed,
                        .blame = Blame::node,
                        .sentence = std::move(sentence),
                        .stage_dir = {},
                        .paths = {}},
            .culprit = Rank{1},
            .until = until};
}

}  // namespace

TEST_CASE("an unclaimed verdict is found until its time is over or its job ends") {
    UnclaimedVerdicts verdicts;
    const Instant now{1h};
    verdicts.add(entry(key_of(7), "why", now + 10s), now);
    verdicts.add(entry(key_of(7, 1), "step", now + 10s), now);
    REQUIRE(verdicts.find(key_of(7), now + 9s) != nullptr);
    CHECK(verdicts.find(key_of(7), now + 9s)->verdict.sentence == "why");
    CHECK(verdicts.find(key_of(7), now + 10s) == nullptr);
    CHECK(verdicts.find(key_of(8), now) == nullptr);
    verdicts.remove_job(7, 1);
    CHECK(verdicts.find(key_of(7, 1), now) == nullptr);
    CHECK(verdicts.find(key_of(7), now) != nullptr);
    verdicts.remove_job(7, kWholeJob);
    CHECK(verdicts.size() == 0);
    verdicts.add(entry(key_of(8), "old", now + 1s), now);
    verdicts.add(entry(key_of(9), "new", now + 10s), now + 1s);
    CHECK(verdicts.size() == 1);
}

TEST_CASE("beyond the limit the oldest unclaimed verdicts are dropped, and none is long") {
    UnclaimedVerdicts verdicts;
    const Instant now{1h};
    const auto most = static_cast<std::uint32_t>(UnclaimedVerdicts::kMax);
    for (std::uint32_t job = 1; job <= most + 5; ++job) {
        verdicts.add(entry(key_of(job), std::string(60'000, 'x'), now + 10s), now);
    }
    CHECK(verdicts.size() == UnclaimedVerdicts::kMax);
    CHECK(verdicts.find(key_of(5), now) == nullptr);
    REQUIRE(verdicts.find(key_of(6), now) != nullptr);
    CHECK(verdicts.find(key_of(6), now)->verdict.sentence.size() ==
          UnclaimedVerdicts::kMaxSentence);
    CHECK(verdicts.find(key_of(6), now)->culprit == Rank{1});
}
