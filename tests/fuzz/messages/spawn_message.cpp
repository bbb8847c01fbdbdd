// Fuzzes requests to the spawner, which is root and keeps to its limits.
//
// The first byte chooses: a request to it, or an event from it.
#include "stager/spawn/event.h"
#include "stager/spawn/request.h"
#include "tests/fuzz/fuzz.h"

#include <csignal>

namespace stage {
namespace {

void check_user(const UserIdentity& user) {
    invariant(user.uid != static_cast<uid_t>(-1), "a user is never root");
}

void check(const ProgramRequest& program) {
    invariant(program.path.starts_with('/') && !program.arguments.empty(),
              "a program has a path and a name");
    invariant(program.umask <= 0777, "a umask is one");
    invariant(program.oom_score_adj >= -1000 && program.oom_score_adj <= 1000,
              "the kernel takes the score");
    invariant(program.group.find('/') == std::string::npos, "a group is below ours");
    if (program.user) {
        check_user(*program.user);
    }
}

void check(const RemoveRequest& remove) {
    invariant(!remove.path.empty(), "a place is to be removed, not all");
    for (const std::string& name : remove.path) {
        invariant(
            !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos,
            "what is removed lies below");
    }
    check_user(remove.user);
}

void check(const KillRequest& kill) {
    invariant(kill.pid > 1 && kill.signal >= 0 && kill.signal <= SIGRTMAX,
              "a signal goes to one process");
}

void check(const RoleRequest& /*role*/) {
}

bool check_request(Bytes input) {
    const auto request = decode_spawn_request(input);
    if (!request) {
        return false;
    }
    std::visit([](const auto& one) { check(one); }, request->request);
    const auto again =
        decode_spawn_request(encode_spawn_request(request->id, request->request));
    invariant(again && again->id == request->id && again->request == request->request,
              "a request arrives as it was sent");
    return true;
}

bool check_event(Bytes input) {
    return is_exact(input, decode_event, [](const SpawnEvent& event) {
        invariant(!event.status_text().empty(), "an exit status has a text");
        return encode_event(event);
    });
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const Bytes message = input.subspan(1);
    return input.front() == std::byte{0} ? check_request(message) : check_event(message);
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto ask = [](const SpawnRequest& request) {
        return chosen(0, encode_spawn_request(7, request));
    };
    const UserIdentity alice{.uid = 1000, .gid = 100, .name = "alice"};
    const ProgramRequest worker{.path = "/usr/libexec/stagecast/stagecast-worker",
                                .arguments = {"stagecast-worker"},
                                .environment = {"HOME=/home/alice", "PMIX_RANK=1"},
                                .user = alice,
                                .oom_score_adj = 500,
                                .group = "stage-42"};
    SpawnEvent event;
    event.kind = SpawnEvent::Kind::ended;
    event.id = 7;
    event.pid = 4711;
    event.status = SIGKILL;
    event.sentence = "it was killed";
    return {{"program", ask(worker)},
            {"role", ask(RoleRequest{.role = 1})},
            {"remove", ask(RemoveRequest{.path = {"42", "step.0"}, .user = alice})},
            {"kill", ask(KillRequest{.pid = 4711, .signal = SIGTERM})},
            {"event", chosen(1, encode_event(event))}};
}

}  // namespace stage
