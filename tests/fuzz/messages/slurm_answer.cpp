// Fuzzes the answers of the child that asks Slurm.
//
// The first byte chooses: the question, or the answer.
#include "stager/slurm/slurm_query.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

bool check_question(Bytes input) {
    const auto question = decode_question(input);
    if (!question) {
        return false;
    }
    const auto bytes = encode_question(*question);
    const auto again = decode_question(bytes);
    invariant(again && same(encode_question(*again), bytes),
              "a question arrives as it was put");
    return true;
}

bool check_answer(Bytes input) {
    const auto answer = decode_slurm_answer(input);
    const auto again = decode_slurm_answer(encode_slurm_answer(answer));
    invariant(answer.ok() == again.ok(), "an answer stays one");
    if (answer) {
        invariant(*again == *answer, "an answer arrives as it was given");
        return true;
    }
    invariant(again.error().sentence() == answer.error().sentence() &&
                  again.error().blame() == answer.error().blame(),
              "a failure arrives unchanged");
    return false;
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const Bytes message = input.subspan(1);
    return input.front() == std::byte{0} ? check_question(message) : check_answer(message);
}

std::vector<FuzzSeed> fuzz_seeds() {
    const std::vector<SlurmNode> nodes{{.name = "n0", .address = "10.77.1.1"},
                                       {.name = "n1", .address = "fd00::1"}};
    const SlurmJob job{.state = SlurmJobState::ended, .restart_count = 1, .word = "CANCELLED"};
    const SlurmJob completing{
        .state = SlurmJobState::completing, .restart_count = 0, .word = "TIMEOUT"};
    const SlurmJob running{.state = SlurmJobState::alive,
                           .restart_count = 0,
                           .word = "RUNNING",
                           .node_list = "n[0-3]"};
    const FailureOrder failure{.job_id = 4711,
                               .requeue = true,
                               .faulty = {"n1"},
                               .sentence = "stagecast: node n1: no space"};
    return {{"expand", chosen(0, encode_question(ExpandQuestion{"n[0-3]"}))},
            {"resolve", chosen(0, encode_question(ResolveQuestion{"n[0-3]"}))},
            {"lease_servers", chosen(0, encode_question(LeaseServersQuestion{}))},
            {"job_state", chosen(0, encode_question(JobStateQuestion{4711}))},
            {"jobs_asked", chosen(0, encode_question(JobsQuestion{{4711, 4712}}))},
            {"failure", chosen(0, encode_question(failure))},
            {"nodes", chosen(1, encode_slurm_answer(SlurmAnswer{nodes}))},
            {"job", chosen(1, encode_slurm_answer(SlurmAnswer{job}))},
            {"running", chosen(1, encode_slurm_answer(SlurmAnswer{running}))},
            {"jobs", chosen(1, encode_slurm_answer(SlurmAnswer{std::vector{job, running}}))},
            {"completing", chosen(1, encode_slurm_answer(SlurmAnswer{completing}))}};
}

}  // namespace stage
