// Tests the login with the real munge, and its error messages when munge fails.
//
// Real munged processes in a directory of their own, with keys of their own; helpers forked by
// a real spawner. Needs root and munged; the clocks' test needs libfaketime as well.
#include "stager/link/key_credentials.h"
#include "stager/link/munge_client.h"
#include "tests/unit/link/link_world.h"
#include "tests/unit/root.h"
#include "tests/unit/spawn/spawn_world.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

using namespace stage;
using namespace std::chrono_literals;
using State = Link::State;

namespace {

constexpr const char* kMunged = "/usr/sbin/munged";
constexpr const char* kFaketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

bool can_run() {
    if (!is_root()) {
        return false;
    }
    if (::access(kMunged, X_OK) != 0) {
        WARN("skipped: no munged");
        return false;
    }
    return true;
}

/// A munged of its own. Ends with the test.
class Munged {
  public:
    explicit Munged(char key, const char* clock = nullptr) {
        REQUIRE(::mkdtemp(dir_.data()) != nullptr);
        REQUIRE(::chmod(dir_.c_str(), 0755) == 0);
        std::ofstream{dir_ + "/key"} << std::string(64, key);
        REQUIRE(::chmod((dir_ + "/key").c_str(), 0600) == 0);
        const pid_t starter = ::fork();
        if (starter == 0) {
            execute(clock);
        }
        int status = -1;
        REQUIRE(::waitpid(starter, &status, 0) == starter);
        REQUIRE(status == 0);  // it serves before its first process ends
        std::ifstream{dir_ + "/pid"} >> pid_;
        REQUIRE(pid_ > 1);
    }
    Munged(const Munged&) = delete;
    Munged& operator=(const Munged&) = delete;
    ~Munged() {
        ::kill(pid_, SIGKILL);
        for (const char* const name : {"key", "pid", "log", "seed", "socket", "socket.lock"}) {
            ::unlink((dir_ + "/" + name).c_str());
        }
        ::rmdir(dir_.c_str());
    }
    [[nodiscard]] std::string socket() const { return dir_ + "/socket"; }
    void stop() const { REQUIRE(::kill(pid_, SIGSTOP) == 0); }
    void go_on() const { REQUIRE(::kill(pid_, SIGCONT) == 0); }

  private:
    [[noreturn]] void execute(const char* clock) const {
        if (clock != nullptr) {
            ::setenv("LD_PRELOAD", kFaketime, 1);
            ::setenv("FAKETIME", clock, 1);
            ::setenv("FAKETIME_DONT_RESET", "1", 1);
        }
        const auto at = [this](const char* option, const char* name) {
            return std::string{option} + dir_ + "/" + name;
        };
        ::execl(kMunged,
                kMunged,
                "--force",
                "--num-threads=2",
                at("--key-file=", "key").c_str(),
                at("--pid-file=", "pid").c_str(),
                at("--log-file=", "log").c_str(),
                at("--seed-file=", "seed").c_str(),
                at("--socket=", "socket").c_str(),
                nullptr);
        ::_exit(127);
    }

    std::string dir_ = "/tmp/stagecast-munge-XXXXXX";
    pid_t pid_ = -1;
};

SpawnRole helper_of(const std::string& socket) {
    return [socket](int fd) { return run_munge_helper(fd, socket); };
}

SpawnRole helper_of_a_user(const std::string& socket) {
    return [socket](int fd) {
        return ::setuid(kUnknownUid) == 0 ? run_munge_helper(fd, socket) : 99;
    };
}

/// Two nodes with a munge helper each: role 0 is the connector's, role 1 the acceptor's.
struct MungeWorld {
    MungeWorld(SpawnRole connector, SpawnRole acceptor)
        : spawn{{std::move(connector), std::move(acceptor)}} {
        attach(near, 0);
        attach(far, 1);
        world.munges = {&near, &far};
    }
    void attach(MungeClient& client, std::uint32_t role) {
        auto helper = spawn.spawner().start_role(role, SOCK_SEQPACKET);
        REQUIRE(helper);
        client.attach(std::move(helper->socket));
    }
    std::string login_error() {
        Link& link = world.connect();
        world.until_closed(link);
        return error_of(link);
    }

    SpawnWorld spawn;
    MungeClient near;
    MungeClient far;
    LinkWorld world{near, far};
};

/// What a node with a key file logs in by.
struct KeyNode {
    std::deque<std::function<void()>> tasks;
    KeyCredentials credentials{
        SharedKey{"/etc/stagecast/auth.key", std::vector<std::byte>(32)},
        {.defer = [this](std::function<void()> task) { tasks.push_back(std::move(task)); },
         .clock = [] { return std::int64_t{::time(nullptr)}; }}};

    bool run() {
        const auto due = std::exchange(tasks, {});
        for (const auto& task : due) {
            task();
        }
        return !due.empty();
    }
};

/// What both ends say of a login between a node with munge and one with a key file.
std::pair<std::string, std::string> errors_of_both(const std::string& munge_socket,
                                                   bool munge_connects) {
    SpawnWorld spawn{{helper_of(munge_socket)}};
    MungeClient munge;
    KeyNode key;
    auto helper = spawn.spawner().start_role(0, SOCK_SEQPACKET);
    REQUIRE(helper);
    munge.attach(std::move(helper->socket));
    Credentials& here = munge_connects ? static_cast<Credentials&>(munge) : key.credentials;
    Credentials& there = munge_connects ? static_cast<Credentials&>(key.credentials) : munge;
    LinkWorld world{here, there};
    world.munges = {&munge};
    world.serve = [&key] { return key.run(); };
    const Link& link = world.connect();
    world.until_closed(link);
    world.until([&] { return world.accepted.at(0)->state() == Link::State::closed; });
    return {error_of(link), error_of(*world.accepted[0])};
}

}  // namespace

TEST_CASE("daemons whose munges share a key log in") {
    if (!can_run()) {
        return;
    }
    const Munged here{'k'};
    const Munged there{'k'};
    MungeWorld munge{helper_of(here.socket()), helper_of(there.socket())};
    Link& link = munge.world.connect();
    REQUIRE(link.send(as_bytes("setup")));
    munge.world.until_open(link);
    CHECK(munge.world.next_frame(*munge.world.accepted[0]) == "setup");
    CHECK(munge.world.accepted[0]->peer_name() == "n0");
}

TEST_CASE("daemons whose munges have different keys report that") {
    if (!can_run()) {
        return;
    }
    const Munged here{'k'};
    const Munged there{'x'};
    MungeWorld munge{helper_of(here.socket()), helper_of(there.socket())};
    CHECK_THAT(munge.login_error(),
               Catch::Contains("it does not accept this node's credential; is munge.key "
                               "the same on both nodes, and AuthKeyFile= set on neither?"));
    CHECK_THAT(error_of(*munge.world.accepted[0]),
               Catch::Contains("this node does not accept its credential (munge: "));
}

TEST_CASE("clocks an hour apart are reported with the names of both nodes") {
    if (!can_run()) {
        return;
    }
    if (::access(kFaketime, R_OK) != 0) {
        WARN("skipped: no libfaketime");
        return;
    }
    const bool far_ahead = GENERATE(true, false);
    const Munged here{'k', far_ahead ? nullptr : "+3600"};
    const Munged there{'k', far_ahead ? "+3600" : nullptr};
    MungeWorld munge{helper_of(here.socket()), helper_of(there.socket())};
    const std::string error = munge.login_error();
    CHECK_THAT(error,
               Catch::Contains("the clocks of nodes n0 and n3 are 3") &&
                   Catch::Contains(far_ahead ? "n0 is behind" : "n0 is ahead"));
    CHECK_THAT(error_of(*munge.world.accepted[0]),
               Catch::Contains("the clocks of nodes n0 and n3 are 3"));
}

TEST_CASE("a local user can neither play a daemon nor read its secrets") {
    if (!can_run()) {
        return;
    }
    const Munged munged{'k'};
    SECTION("as connector") {
        MungeWorld munge{helper_of_a_user(munged.socket()), helper_of(munged.socket())};
        CHECK_THAT(munge.login_error(),
                   Catch::Contains("it reports that this daemon does not run as root"));
        CHECK_THAT(error_of(*munge.world.accepted[0]),
                   Catch::Contains("made by uid 61234, not by root"));
        munge.world.listener->settle(*munge.world.accepted[0], munge.world.now);
        CHECK(munge.world.listener->refused_total() == 1);
    }
    SECTION("as acceptor") {
        MungeWorld munge{helper_of(munged.socket()), helper_of_a_user(munged.socket())};
        munge.login_error();
        CHECK_THAT(error_of(*munge.world.accepted[0]),
                   Catch::Contains("does not accept its credential (munge: Unauthorized"));
        CHECK_FALSE(munge.world.accepted[0]->is_trusted());
    }
}

TEST_CASE("without munged a login fails at once with an error, at either end") {
    if (!can_run()) {
        return;
    }
    const Munged munged{'k'};
    SECTION("here") {
        MungeWorld munge{helper_of("/nonexistent/socket"), helper_of(munged.socket())};
        CHECK_THAT(munge.login_error(),
                   Catch::StartsWith("munge on this node does not answer (") &&
                       Catch::EndsWith("; is munged running? A cluster without munge needs "
                                       "AuthKeyFile= in stagecast.conf"));
    }
    SECTION("there") {
        MungeWorld munge{helper_of(munged.socket()), helper_of("/nonexistent/socket")};
        CHECK_THAT(munge.login_error(),
                   Catch::Contains("munge there does not answer its daemon; "
                                   "is munged running?"));
        munge.world.listener->settle(*munge.world.accepted[0], munge.world.now);
        CHECK(munge.world.listener->refused_total() == 0);
    }
}

TEST_CASE("a node with munge and one with a key file refuse each other, and say by what") {
    if (!can_run()) {
        return;
    }
    SECTION("munge's connects") {
        const Munged munged{'k'};
        const auto [near, far] = errors_of_both(munged.socket(), true);
        CHECK_THAT(
            near,
            Catch::Contains("it does not accept this node's credential; is munge.key the "
                            "same on both nodes, and AuthKeyFile= set on neither?"));
        CHECK_THAT(far,
                   Catch::Contains("(it is munge's, and the key here is "
                                   "/etc/stagecast/auth.key); is AuthKeyFile= set on both"));
    }
    SECTION("the key's connects, and munged runs or not") {
        const bool runs = GENERATE(true, false);
        const Munged munged{'k'};
        const auto [near, far] =
            errors_of_both(runs ? munged.socket() : "/nonexistent/socket", false);
        CHECK_THAT(near,
                   Catch::Contains("it does not accept this node's credential; is AuthKeyFile= "
                                   "set on both nodes, is /etc/stagecast/auth.key here the"));
        CHECK_THAT(far,
                   Catch::Contains("(it was made by a key file, and this node uses munge); is "
                                   "munge.key the same"));
    }
}

TEST_CASE("a munged that is stopped stops no daemon") {
    if (!can_run()) {
        return;
    }
    const Munged munged{'k'};
    MungeWorld munge{helper_of(munged.socket()), helper_of(munged.socket())};
    munged.stop();
    Link& link = munge.world.connect();
    munge.world.until([&] { return link.progress() == 2; });
    link.on_time(munge.world.now + 5s);
    CHECK_THAT(error_of(link), Catch::Contains("waiting for munge on this node"));

    // The helper is still stuck with that question; its answer is not needed any more.
    REQUIRE(munge.near.deadline());
    munge.near.on_time(munge.world.now);
    REQUIRE(munge.near.deadline() == munge.world.now + kMungeAnswerMax);
    munge.near.on_time(*munge.near.deadline());
    CHECK(munge.near.fd() == -1);

    munged.go_on();
    munge.attach(munge.near, 0);
    munge.world.accepted.clear();
    munge.world.until_open(munge.world.connect());
}

TEST_CASE("the question of a dead helper fails, those that waited go to the next one") {
    if (!can_run()) {
        return;
    }
    const Munged munged{'k'};
    SpawnWorld spawn{{helper_of(munged.socket())}};
    MungeClient client;
    std::string first = "(nothing)";
    std::string second = "(nothing)";
    const auto note = [](std::string& where) {
        return [&where](const Result<std::string>& sealed) {
            where = sealed ? "sealed" : sealed.error().sentence();
        };
    };
    client.seal("n3", as_bytes("a"), note(first));
    client.seal("n3", as_bytes("b"), note(second));
    munged.stop();
    auto helper = spawn.spawner().start_role(0, SOCK_SEQPACKET);
    REQUIRE(helper);
    const pid_t pid = spawn.next(SpawnEvent::Kind::started).pid;
    client.attach(std::move(helper->socket));
    REQUIRE(spawn.spawner().kill(pid, SIGKILL));
    REQUIRE(wait_readable(client.fd()));
    client.on_readable({});
    CHECK(client.fd() == -1);
    CHECK(first == "the munge helper has ended");
    CHECK(second == "(nothing)");

    munged.go_on();
    helper = spawn.spawner().start_role(0, SOCK_SEQPACKET);
    REQUIRE(helper);
    client.attach(std::move(helper->socket));
    REQUIRE(wait_readable(client.fd()));
    client.on_readable({});
    CHECK(second == "sealed");
}

TEST_CASE("a credential that was decoded before still gives its payload") {
    if (!can_run()) {
        return;
    }
    const Munged munged{'k'};
    SpawnWorld spawn{{helper_of(munged.socket())}};
    MungeClient client;
    auto helper = spawn.spawner().start_role(0, SOCK_SEQPACKET);
    REQUIRE(helper);
    client.attach(std::move(helper->socket));
    std::string credential;
    client.seal("n3", as_bytes("payload"), [&](const Result<std::string>& sealed) {
        credential = sealed ? *sealed : "";
    });
    std::vector<OpenedCredential> opened;
    const auto keep = [&](const Result<OpenedCredential>& result) {
        REQUIRE(result);
        opened.push_back(*result);
    };
    while (credential.empty()) {
        REQUIRE(wait_readable(client.fd()));
        client.on_readable({});
    }
    client.open("n3", credential, keep);
    client.open("n3", credential, keep);
    client.cancel(client.open("n3", credential, keep));
    while (opened.size() < 2) {
        REQUIRE(wait_readable(client.fd()));
        client.on_readable({});
    }
    CHECK(opened[0].state == CredentialState::valid);
    CHECK(opened[1].state == CredentialState::valid);
    CHECK(text_of(opened[1].payload) == "payload");
    CHECK(opened[1].uid == 0);
    CHECK(opened[1].encoded_at > 1'600'000'000);
    CHECK_THAT(opened[1].sentence, Catch::Contains("Replayed"));
}

TEST_CASE("too many questions are refused, not kept") {
    MungeClient client;
    std::size_t refused = 0;
    const auto count = [&](const Result<std::string>& sealed) { refused += sealed ? 0U : 1U; };
    for (std::size_t i = 0; i < kMungeQueueMax + 3; ++i) {
        client.seal("n3", as_bytes("x"), count);
    }
    CHECK(refused == 0);
    REQUIRE(client.deadline());
    client.on_time({});
    CHECK(refused == 3);
    CHECK_FALSE(client.deadline());
}
