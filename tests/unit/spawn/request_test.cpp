// Tests that the spawner accepts only complete requests within their limits.
#include "stager/spawn/request.h"

#include "stager/spawn/event.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <csignal>

using namespace stage;

namespace {

const UserIdentity kAlice{.uid = 2001, .gid = 2002, .name = "alice"};

ProgramRequest program() {
    return {.path = "/bin/true",
            .arguments = {"true", ""},
            .environment = {"HOME=/", "A=b"},
            .user = kAlice,
            .umask = 027,
            .oom_score_adj = -500,
            .group = "stage-42",
            .has_output = true};
}

std::vector<SpawnRequest> samples() {
    ProgramRequest as_root = program();
    as_root.user.reset();
    return {program(),
            as_root,
            RoleRequest{.role = 3},
            RemoveRequest{.path = {"42", "step.0"}, .user = kAlice},
            RemoveRequest{.path = {"42"}, .user = kAlice, .has_directory = false},
            KillRequest{.pid = 1234, .signal = SIGKILL}};
}

}  // namespace

TEST_CASE("a request survives its bytes") {
    for (const SpawnRequest& request : samples()) {
        const auto back = decode_spawn_request(encode_spawn_request(77, request));
        REQUIRE(back);
        CHECK(back->id == 77);
        CHECK(back->request == request);
    }
}

TEST_CASE("a truncated, lengthened or malformed message is no request") {
    for (const SpawnRequest& request : samples()) {
        std::vector<std::byte> bytes = encode_spawn_request(1, request);
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            CHECK_FALSE(decode_spawn_request(Bytes{bytes}.first(length)));
        }
        bytes.push_back(std::byte{0});
        CHECK_FALSE(decode_spawn_request(bytes));
    }
    const auto refused = [](auto change) {
        ProgramRequest request = program();
        change(request);
        return !decode_spawn_request(encode_spawn_request(1, request)).ok();
    };
    CHECK(refused([](auto& r) { r.path = "true"; }));
    CHECK(refused([](auto& r) { r.path = std::string{"/a\0b", 4}; }));
    CHECK(refused([](auto& r) { r.arguments.clear(); }));
    CHECK(refused([](auto& r) { r.umask = 01000; }));
    CHECK(refused([](auto& r) { r.oom_score_adj = 1001; }));
    CHECK(refused([](auto& r) { r.oom_score_adj = -1001; }));
    CHECK(refused([](auto& r) { r.group = "../x"; }));
    // setuid(-1) would leave a child root.
    CHECK(refused([](auto& r) { r.user->uid = static_cast<uid_t>(-1); }));
    for (const char* const name : {"", ".", "..", "a/b", "/"}) {
        CAPTURE(name);
        const RemoveRequest remove{.path = {"42", name}, .user = kAlice};
        CHECK_FALSE(decode_spawn_request(encode_spawn_request(1, remove)));
    }
    CHECK_FALSE(decode_spawn_request(
        encode_spawn_request(1, RemoveRequest{.path = {}, .user = kAlice})));
    for (const pid_t pid : {-1, 0, 1}) {
        CHECK_FALSE(decode_spawn_request(
            encode_spawn_request(1, KillRequest{.pid = pid, .signal = 9})));
    }
}

TEST_CASE("random bytes are taken or refused, never more") {
    const auto seed = GENERATE(range(1U, 400U));
    CAPTURE(seed);
    Prng prng{seed};
    std::vector<std::byte> bytes = encode_spawn_request(1, samples()[prng.below(5)]);
    for (std::uint64_t flips = 1 + prng.below(4); flips > 0; --flips) {
        bytes[prng.below(bytes.size())] = static_cast<std::byte>(prng.below(256));
    }
    const auto request = decode_spawn_request(bytes);
    if (request) {
        CHECK(decode_spawn_request(encode_spawn_request(request->id, request->request)));
    }
}

TEST_CASE("an event survives its bytes, a long sentence is cut") {
    SpawnEvent event{.kind = SpawnEvent::Kind::ended,
                     .id = 5,
                     .pid = 4711,
                     .status = SIGKILL,
                     .sentence = std::string(5000, 'x')};
    const auto back = decode_event(encode_event(event));
    REQUIRE(back);
    CHECK(back->kind == SpawnEvent::Kind::ended);
    CHECK(back->id == 5);
    CHECK(back->pid == 4711);
    CHECK(back->sentence.size() == kSpawnSentenceMax);
    CHECK(back->status_text() == "killed by SIGKILL");
    CHECK_FALSE(decode_event({}));
}
