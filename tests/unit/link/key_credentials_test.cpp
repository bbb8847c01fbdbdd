// Tests that a key file lets its holders log in, and nothing else does.
#include "stager/link/key_credentials.h"

#include "tests/unit/link/link_world.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

using namespace stage;

namespace {

constexpr std::int64_t kNow = 1'800'000'000;

SharedKey key_of(char byte, const std::string& file = "/etc/stagecast/auth.key") {
    return SharedKey{file, std::vector<std::byte>(32, static_cast<std::byte>(byte))};
}

/// What a program with credentials has around them: its clock, and tasks that wait.
struct Host {
    std::int64_t now = kNow;
    std::deque<std::function<void()>> tasks;

    KeyCredentials::Surroundings surroundings() {
        return {
            .defer = [this](std::function<void()> task) { tasks.push_back(std::move(task)); },
            .clock = [this] { return now; }};
    }
    bool run() {
        bool any = false;
        while (!tasks.empty()) {
            const auto task = std::move(tasks.front());
            tasks.pop_front();
            task();
            any = true;
        }
        return any;
    }
};

std::map<std::string, SharedKey> one_key(const std::string& cluster, char byte) {
    std::map<std::string, SharedKey> keys;
    keys.try_emplace(cluster, key_of(byte, "/etc/stagecast/" + cluster + ".key"));
    return keys;
}

/// The two ends, each with its key.
struct Ends {
    Host near_host;
    Host far_host;
    KeyCredentials near;
    KeyCredentials far;

    Ends(char near_key, char far_key)
        : near{key_of(near_key), near_host.surroundings()},
          far{key_of(far_key), far_host.surroundings()} {}
    Ends(const std::string& here, const std::string& there)
        : near{here, one_key(there, 'k'), near_host.surroundings()},
          far{there, one_key(here, 'k'), far_host.surroundings()} {}

    std::string sealed(const std::string& peer = "n3") {
        std::string credential;
        near.seal(peer, as_bytes("payload"), [&](const Result<std::string>& made) {
            credential = made ? *made : made.error().sentence();
        });
        near_host.run();
        return credential;
    }
    static OpenedCredential opened(KeyCredentials& by,
                                   Host& host,
                                   const std::string& credential,
                                   const std::string& peer = "n0") {
        OpenedCredential result;
        by.open(peer, credential, [&](const Result<OpenedCredential>& opened) {
            REQUIRE(opened);
            result = *opened;
        });
        host.run();
        return result;
    }
    OpenedCredential opened_there(const std::string& credential,
                                  const std::string& peer = "n0") {
        return opened(far, far_host, credential, peer);
    }
};

/// A whole login over a socket.
struct KeyLinks {
    Ends& ends;
    LinkWorld world{ends.near, ends.far};

    explicit KeyLinks(Ends& both) : ends{both} {
        world.serve = [this] {
            const bool is_near = ends.near_host.run();
            return ends.far_host.run() || is_near;
        };
    }
    Link& login(const std::string& name = "n3") {
        Link& link = world.connect(name);
        world.until([&] {
            return link.state() == Link::State::closed ||
                   (link.state() == Link::State::open && !world.accepted.empty() &&
                    world.accepted.back()->state() == Link::State::open);
        });
        world.until(
            [&] { return world.accepted.back()->state() != Link::State::authenticating; });
        return link;
    }
};

}  // namespace

TEST_CASE("two daemons with one key file log in, with keys of an exchange") {
    Ends ends{'k', 'k'};
    KeyLinks links{ends};
    Link& link = links.login();
    INFO(error_of(link));
    REQUIRE(link.state() == Link::State::open);
    CHECK(link.version() == kLinkVersionExchange);
    REQUIRE(link.send(as_bytes("SETUP")));
    CHECK(links.world.next_frame(*links.world.accepted.back()) == "SETUP");
}

TEST_CASE("another key, as an old one, is refused with file and remedy at both ends") {
    Ends ends{'k', 'o'};
    KeyLinks links{ends};
    CHECK_THAT(error_of(links.login()),
               Catch::Contains("it does not accept this node's credential; is AuthKeyFile= "
                               "set on both nodes, is /etc/stagecast/auth.key here the same "
                               "file as there, and was stagecastd restarted since?"));
    CHECK_THAT(
        error_of(*links.world.accepted.back()),
        Catch::Contains("this node does not accept its credential (it does not open with "
                        "/etc/stagecast/auth.key); is AuthKeyFile= set on both"));
    CHECK(links.world.listener->refused_total() == 1);
    CHECK(links.world.accepted.back()->was_unauthorised());
}

TEST_CASE("clocks more than five minutes apart are reported, fewer are not") {
    Ends ends{'k', 'k'};
    const std::int64_t apart = GENERATE(-301, -300, 300, 301);
    ends.far_host.now = kNow + apart;
    KeyLinks links{ends};
    const Link& link = links.login();
    if (apart == 300 || apart == -300) {
        CHECK(link.state() == Link::State::open);
    } else {
        CHECK_THAT(error_of(link),
                   Catch::Contains("the clocks of nodes n0 and n3 are 301 s apart (n0 is " +
                                   std::string{apart > 0 ? "behind" : "ahead"} +
                                   "), so the login is refused"));
    }
}

TEST_CASE("munge's credential is called that") {
    Ends ends{'k', 'k'};
    FalseMunge munge;
    CHECK(ends.opened_there("MUNGE:AwQFAAC:").sentence ==
          "it is munge's, and the key here is /etc/stagecast/auth.key");
}

TEST_CASE("a credential opens at a holder of the key, as root's and often") {
    Ends ends{'k', 'k'};
    const std::string credential = ends.sealed();
    for (int times = 0; times < 2; ++times) {
        const auto opened = ends.opened_there(credential);
        CHECK(opened.state == CredentialState::valid);
        CHECK(opened.uid == 0);
        CHECK(opened.encoded_at == kNow);
        CHECK(text_of(opened.payload) == "payload");
    }
    CHECK(ends.sealed() != credential);
}

TEST_CASE("no digit of a credential can be changed, removed or added") {
    Ends ends{'k', 'k'};
    const std::string whole = ends.sealed();
    const auto is_refused = [&](const std::string& credential) {
        const auto opened = ends.opened_there(credential);
        return opened.state == CredentialState::refused && opened.payload.empty() &&
               !opened.sentence.empty();
    };
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string changed = whole;
        changed[i] = changed[i] == '0' ? '1' : '0';
        CAPTURE(i);
        REQUIRE(is_refused(changed));
        REQUIRE(is_refused(whole.substr(0, i)));
    }
    CHECK(is_refused(whole + "00"));
    CHECK(is_refused("STAGEKEY1:" + std::string(2 * (32 + 4 + 16), '0')));
}

TEST_CASE("answers come later, and none after cancel()") {
    Ends ends{'k', 'k'};
    int answers = 0;
    const auto count = [&](const Result<std::string>&) { ++answers; };
    ends.near.seal("n3", as_bytes("a"), count);
    const auto ticket = ends.near.seal("n3", as_bytes("b"), count);
    CHECK(answers == 0);
    ends.near.cancel(ticket);
    ends.near.cancel(99);
    ends.near_host.run();
    CHECK(answers == 1);
}

TEST_CASE("a login of another connection that is sent again fails") {
    Ends ends{'k', 'k'};
    std::string recorded;
    {
        KeyLinks links{ends};
        REQUIRE(links.login().state() == Link::State::open);
        recorded = ends.sealed();
    }
    // What an attacker has of an earlier login: its credential opens, but not with this nonce.
    Handshake::Start start{.role = LinkRole::acceptor,
                           .own_name = "n3",
                           .peer_name = {},
                           .versions = own_versions(),
                           .trusted_uids = {0},
                           .differs = {}};
    const auto greeting_of = [](std::byte nonce) {
        Handshake::Start connector{.role = LinkRole::connector,
                                   .own_name = "n0",
                                   .peer_name = "n3",
                                   .versions = own_versions(),
                                   .trusted_uids = {0},
                                   .differs = {}};
        connector.nonce.fill(nonce);
        return connector;
    };
    std::string credential;
    const auto login = [&](std::byte acceptor_nonce, bool is_replay) {
        start.nonce.fill(acceptor_nonce);
        Handshake acceptor{start};
        Handshake connector{greeting_of(std::byte{1})};
        const auto greeting = connector.begin().send;
        const auto answer = acceptor.on_message(Bytes{greeting}.subspan(4));
        REQUIRE(answer);
        const auto asked = connector.on_message(Bytes{answer->send}.subspan(4));
        REQUIRE(asked);
        if (!is_replay) {
            ends.near.seal("n3", asked->seal, [&](const Result<std::string>& made) {
                credential = *made;
            });
            ends.near_host.run();
        }
        const auto message = ByteWriter{}.u8(2).text(credential).take();
        REQUIRE(acceptor.on_message(message));
        return acceptor.on_opened(ends.opened_there(credential));
    };
    CHECK(login(std::byte{7}, false));
    const auto replayed = login(std::byte{8}, true);
    REQUIRE_FALSE(replayed);
    CHECK_THAT(replayed.error().sentence(),
               Catch::Contains("made for another connection: a replay"));
}

TEST_CASE("a login that is turned back to its maker fails") {
    Ends ends{'k', 'k'};
    Handshake connector{{.role = LinkRole::connector,
                         .own_name = "n0",
                         .peer_name = "n3",
                         .versions = own_versions(),
                         .trusted_uids = {0},
                         .differs = {}}};
    REQUIRE_FALSE(connector.begin().send.empty());
    // The attacker calls itself n3, with the connector's own nonce (of zeros).
    Handshake other{{.role = LinkRole::connector,
                     .own_name = "n3",
                     .peer_name = "n0",
                     .versions = own_versions(),
                     .trusted_uids = {0},
                     .differs = {}}};
    const auto asked = connector.on_message(Bytes{other.begin().send}.subspan(4));
    REQUIRE(asked);
    std::string credential;
    ends.near.seal(
        "n3", asked->seal, [&](const Result<std::string>& made) { credential = *made; });
    ends.near_host.run();
    REQUIRE(connector.on_sealed(credential));
    REQUIRE(connector.on_message(ByteWriter{}.u8(2).text(credential).take()));
    const auto opened = Ends::opened(ends.near, ends.near_host, credential);
    CHECK(opened.state == CredentialState::valid);
    const auto reflected = connector.on_opened(opened);
    REQUIRE_FALSE(reflected);
    CHECK_THAT(reflected.error().sentence(),
               Catch::Contains("its credential was not made for a stagecast login"));
}

TEST_CASE("two clusters with one key log in by their names") {
    Ends ends{"clusterA", "clusterB"};
    KeyLinks links{ends};
    links.world.connector_policy.node_name = "clusterA";
    links.world.acceptor_policy.node_name = "clusterB";
    Link& link = links.login("clusterB");
    INFO(error_of(link));
    REQUIRE(link.state() == Link::State::open);
    CHECK(links.world.accepted.back()->peer_name() == "clusterA");
    CHECK(link.version() == kLinkVersionExchange);
}

TEST_CASE("a cluster's credential opens for the one cluster, in the one direction") {
    Ends ends{"clusterA", "clusterB"};
    const std::string credential = ends.sealed("clusterB");
    CHECK(ends.opened_there(credential, "clusterA").state == CredentialState::valid);
    SECTION("not when it is turned back to its maker") {
        const auto opened = Ends::opened(ends.near, ends.near_host, credential, "clusterB");
        CHECK(opened.state == CredentialState::refused);
        CHECK_THAT(opened.sentence,
                   Catch::Contains("does not open with /etc/stagecast/clusterB.key"));
    }
    SECTION("not as a daemon's, although the key is the same") {
        KeyCredentials daemons{key_of('k'), ends.far_host.surroundings()};
        CHECK(Ends::opened(daemons, ends.far_host, credential).state ==
              CredentialState::refused);
        Ends nodes{'k', 'k'};
        CHECK(ends.opened_there(nodes.sealed(), "clusterA").state == CredentialState::refused);
    }
    SECTION("not at a third cluster to which it is passed on, or for another name") {
        Ends third{"clusterA", "clusterC"};
        CHECK(third.opened_there(credential, "clusterA").state == CredentialState::refused);
        const auto unknown = ends.opened_there(credential, "clusterX");
        CHECK(unknown.state == CredentialState::refused);
        CHECK(unknown.sentence == "no ClusterKeys= is for cluster clusterX");
    }
    SECTION("and none is made for a cluster without a key") {
        CHECK_THAT(ends.sealed("clusterX"),
                   Catch::Contains("no ClusterKeys= is for cluster clusterX; add one"));
    }
}

TEST_CASE("clusters whose keys differ are named with the file") {
    Ends ends{"clusterA", "clusterB"};
    KeyCredentials other{"clusterB", one_key("clusterA", 'x'), ends.far_host.surroundings()};
    LinkWorld world{ends.near, other};
    world.connector_policy.node_name = "clusterA";
    world.acceptor_policy.node_name = "clusterB";
    world.serve = [&] {
        const bool is_near = ends.near_host.run();
        return ends.far_host.run() || is_near;
    };
    const Link& link = world.connect("clusterB");
    world.until_closed(link);
    CHECK_THAT(error_of(link),
               Catch::Contains("have clusterA and clusterB the same file in ClusterKeys=, as "
                               "/etc/stagecast/clusterB.key here?"));
}

namespace {

/// A file with a key, in a directory of its own.
struct KeyFile {
    Scratch scratch;
    std::string path = scratch.path() + "/auth.key";
    KeyFileRule rule{.name = "AuthKeyFile", .owners = {::geteuid()}};

    explicit KeyFile(std::size_t bytes = 32, mode_t mode = 0400) {
        std::ofstream{path} << std::string(bytes, 'k');
        REQUIRE(::chmod(path.c_str(), mode) == 0);
    }
    [[nodiscard]] std::string error(const std::string& of = {}) const {
        const auto read = read_shared_key(of.empty() ? path : of, rule);
        return read ? "(none)" : read.error().sentence();
    }
};

}  // namespace

TEST_CASE("a key file of root's alone is read whole") {
    const mode_t mode = GENERATE(mode_t{0400}, mode_t{0600});
    const std::size_t bytes = GENERATE(32U, 1024U, 4096U);
    const KeyFile file{bytes, mode};
    const auto key = read_shared_key(file.path, file.rule);
    REQUIRE(key);
    CHECK(key->bytes().size() == bytes);
    CHECK(key->bytes().back() == std::byte{'k'});
    CHECK(key->file() == file.path);
}

TEST_CASE("a key file that proves nothing is refused with setting, file, cause and remedy") {
    KeyFile file;
    const std::string what = "AuthKeyFile=" + file.path + ": ";
    const std::string make = "make it on one node, (umask 077; head -c 32 /dev/urandom > " +
                             file.path + "), and copy it to the others";
    SECTION("missing") {
        REQUIRE(::unlink(file.path.c_str()) == 0);
        CHECK(file.error() == what + "No such file or directory; " + make);
    }
    SECTION("a link") {
        const std::string link = file.scratch.path() + "/link.key";
        REQUIRE(::symlink(file.path.c_str(), link.c_str()) == 0);
        CHECK_THAT(file.error(link), Catch::Contains("link.key: it is a symbolic link; name"));
    }
    SECTION("no regular file") {
        REQUIRE(::unlink(file.path.c_str()) == 0);
        REQUIRE(::mkfifo(file.path.c_str(), 0400) == 0);
        CHECK(file.error() == what + "it is not a regular file; " + make);
    }
    SECTION("another owner") {
        file.rule.owners = {::geteuid() + 1};
        CHECK(file.error() == what + "it belongs to uid " + std::to_string(::geteuid()) +
                                  ", which could replace it; chown root " + file.path);
    }
    SECTION("another owner than Slurm's user, who may own Slurm's key") {
        file.rule = auth_key_rule(::geteuid());
        CHECK(file.error() == "(none)");
        file.rule = auth_key_rule(::geteuid() + 1);
        file.rule.owners.erase(file.rule.owners.begin());  // Root's, which the test may be.
        CHECK(file.error() == what + "it belongs to uid " + std::to_string(::geteuid()) +
                                  ", which could replace it; chown root " + file.path +
                                  ", or name its owner in SlurmUser=, if that is Slurm's user");
        CHECK(auth_key_rule({}).owners == std::vector<uid_t>{0});
    }
    SECTION("rights of others") {
        const mode_t mode = GENERATE(mode_t{0440}, mode_t{0604}, mode_t{0620}, mode_t{0401});
        REQUIRE(::chmod(file.path.c_str(), mode) == 0);
        CHECK_THAT(
            file.error(),
            Catch::Contains(what + "others than its owner have rights to it; chmod 0400"));
    }
    SECTION("too short") {
        const KeyFile shorter{31};
        CHECK_THAT(shorter.error(),
                   Catch::Contains("it has 31 bytes, but 32 to 4096 are needed; make it"));
    }
    SECTION("too long") {
        const KeyFile longer{4097};
        CHECK_THAT(longer.error(), Catch::Contains("it has more than 4096 bytes"));
    }
    SECTION("not exactly as long as it must be") {
        file.rule = {.name = "ClusterKey", .owners = {::geteuid()}, .bytes_max = 32};
        CHECK(file.error() == "(none)");
        KeyFile longer{33};
        longer.rule = file.rule;
        CHECK_THAT(longer.error(),
                   Catch::Contains("more than 32 bytes, but exactly 32 are needed"));
    }
}
