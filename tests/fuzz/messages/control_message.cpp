// Fuzzes the messages between plugin and daemon.
//
// The first byte chooses: what the daemon reads, or what the plugin reads.
#include "stager/control/message.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

bool check_request(Bytes input) {
    return is_exact(input, decode_request, [](const Request& request) {
        const auto* stage = std::get_if<StageRequest>(&request);
        invariant(stage == nullptr || fits(*stage), "what was read may be written");
        invariant(stage == nullptr || stage->work_dir.empty() || stage->work_dir.front() == '/',
                  "a working directory is absolute");
        return encode(request);
    });
}

bool check_answer(Bytes input) {
    return is_stable(input, decode_answer, [](const Answer& answer) {
        if (const auto* verdict = std::get_if<Verdict>(&answer)) {
            invariant(verdict->paths.size() <= kMaxSpecs, "a verdict's paths are few");
            for (const std::string& path : verdict->paths) {
                invariant(path.starts_with('/'), "a verdict's paths are absolute");
            }
        }
        return encode(answer);
    });
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const Bytes message = input.subspan(1);
    return input.front() == std::byte{0} ? check_request(message) : check_answer(message);
}

std::vector<FuzzSeed> fuzz_seeds() {
    const StageKey key{.job_id = 4711, .step_id = 3, .restart = 1};
    const StageRequest stage{.key = key,
                             .uid = 1000,
                             .gid = 100,
                             .node_name = "n3",
                             .node_list = "n[0-7,9]",
                             .work_dir = "/home/alice",
                             .specs = "1;-o,/shared/a%20b,;k,/shared/c,/tmp/c"};
    const Verdict verdict{.state = VerdictState::partial,
                          .blame = Blame::user,
                          .sentence = "node n3: /shared/c: Permission denied",
                          .stage_dir = "/var/spool/stagecast/4711",
                          .paths = {"/var/spool/stagecast/4711/a b", "/tmp/c"}};
    const Refused refused{.blame = Blame::node, .sentence = "only root may ask that"};
    return {
        {"stage", chosen(0, encode(Request{stage}))},
        {"query", chosen(0, encode(Request{QueryRequest{key}}))},
        {"end", chosen(0, encode(Request{EndRequest{.job_id = 4711, .step_id = 3}}))},
        {"push",
         chosen(0,
                encode(Request{PushRequest{.id = {.step_id = 7, .restart = 9},
                                           .mode = PushMode::look,
                                           .rate = 1'000'000'000,
                                           .timeout_s = 60,
                                           .node_list = "n[0-7]",
                                           .specs = "1;wd,/a/b,/images/b"}}))},
        {"status",
         chosen(0, encode(Request{StatusRequest{.kind = StatusKind::explain, .key = key}}))},
        {"ticket",
         chosen(0,
                encode(Request{TicketRequest{.cluster = "b",
                                             .for_uid = 2001,
                                             .lifetime_s = 60,
                                             .paths = {"/data/x", "/data/tree"}}}))},
        {"report", chosen(1, encode(Answer{Report{R"({"stages":[]})"}}))},
        {"ping", chosen(0, encode(Request{PingRequest{}}))},
        {"verdict", chosen(1, encode(Answer{verdict}))},
        {"ack", chosen(1, encode(Answer{Ack{}}))},
        {"pong", chosen(1, encode(Answer{Pong{"0.1.0"}}))},
        {"refused", chosen(1, encode(Answer{refused}))}};
}

}  // namespace stage
