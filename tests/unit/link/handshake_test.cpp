// Tests that a login succeeds only between two current roots that name each other.
#include "stager/link/handshake.h"

#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <map>

using namespace stage;

namespace {

/// The place of the secret in a credential.
constexpr std::ptrdiff_t kSecretAt = 4 + 1 + 2 + 2;

template <class Array>
Array drawn(Prng& prng) {
    Array array{};
    for (std::byte& byte : array) {
        byte = static_cast<std::byte>(prng.below(256));
    }
    return array;
}

/// Munge as it should be: a name for each payload, and who made it.
struct Mint {
    std::map<std::string, OpenedCredential> made;

    std::string seal(Bytes payload, uid_t uid = 0) {
        const std::string name = "CRED" + std::to_string(made.size());
        made[name] = {.state = CredentialState::valid,
                      .uid = uid,
                      .encoded_at = 1000,
                      .decoded_at = 1001,
                      .payload = {payload.begin(), payload.end()},
                      .sentence = {}};
        return name;
    }
    OpenedCredential open(const std::string& name) {
        const auto found = made.find(name);
        return found == made.end()
                   ? OpenedCredential{.payload = {}, .sentence = "Invalid credential"}
                   : found->second;
    }
};

Handshake::Start start(LinkRole role, Prng& prng) {
    const bool connector = role == LinkRole::connector;
    return {.role = role,
            .own_name = connector ? "n0" : "n3",
            .peer_name = connector ? "n3" : "",
            .versions = {1, 2},
            .trusted_uids = {0},
            .private_key = drawn<LinkSecret>(prng),
            .nonce = drawn<LinkNonce>(prng)};
}

/// Both ends and what lies between; each step can be bent by a test.
struct Login {
    Prng prng{1};
    Mint mint;
    Handshake::Start connector_start = start(LinkRole::connector, prng);
    Handshake::Start acceptor_start = start(LinkRole::acceptor, prng);
    std::function<void(std::vector<std::byte>& message, bool to_acceptor, int number)> bend =
        [](auto&, bool, int) {};
    std::function<void(OpenedCredential& opened, bool by_acceptor)> opened =
        [](OpenedCredential&, bool) {};

    std::optional<LinkKeys> connector_keys;
    std::optional<LinkKeys> acceptor_keys;
    std::string connector_error;
    std::string acceptor_error;
    std::optional<Refusal> acceptor_refusal;
    std::optional<Handshake> connector;
    std::optional<Handshake> acceptor;
    int sent = 0;

    void run() {
        connector.emplace(connector_start);
        acceptor.emplace(acceptor_start);
        follow(connector->begin(), true);
    }

    /// Does what a step asks for, and all that comes of it.
    void follow(Result<Handshake::Step> step, bool at_connector) {
        Handshake& self = at_connector ? *connector : *acceptor;
        if (!step) {
            (at_connector ? connector_error : acceptor_error) = step.error().sentence();
            if (!at_connector && self.refusal()) {
                acceptor_refusal = self.refusal();
                deliver(encode_refusal(*self.refusal()), false);
            }
            return;
        }
        if (step->keys) {
            (at_connector ? connector_keys : acceptor_keys) = step->keys;
        }
        if (!step->send.empty()) {
            deliver(step->send, at_connector);
        }
        if (!step->seal.empty()) {
            follow(self.on_sealed(mint.seal(step->seal)), at_connector);
        }
        if (!step->open.empty()) {
            OpenedCredential result = mint.open(step->open);
            opened(result, !at_connector);
            follow(self.on_opened(result), at_connector);
        }
    }

    void deliver(std::vector<std::byte> message, bool to_acceptor) {
        bend(message, to_acceptor, ++sent);
        Handshake& other = to_acceptor ? *acceptor : *connector;
        if (message.size() < 4 || !other.expects_message()) {
            return;
        }
        follow(other.on_message(Bytes{message}.subspan(4)), !to_acceptor);
    }

    [[nodiscard]] bool agreed() const {
        return connector_keys && acceptor_keys &&
               connector_keys->to_acceptor.key == acceptor_keys->to_acceptor.key &&
               connector_keys->to_connector.key == acceptor_keys->to_connector.key &&
               connector_keys->to_acceptor.key != acceptor_keys->to_connector.key;
    }
};

}  // namespace

TEST_CASE("two daemons agree on keys, names and version") {
    Login login;
    login.run();
    CHECK(login.agreed());
    CHECK(login.acceptor->peer_name() == "n0");
    CHECK(login.connector->version() == 2);
    CHECK(login.acceptor->version() == 2);
}

TEST_CASE("what both credentials hold opens a recorded login of version 1, and none later") {
    Login login;
    const std::uint16_t version = GENERATE(std::uint16_t{1}, std::uint16_t{2});
    login.acceptor_start.versions.highest = version;
    std::vector<std::byte> recorded;
    login.bend = [&](const std::vector<std::byte>& message, bool, int) {
        recorded.insert(recorded.end(), message.begin(), message.end());
    };
    login.run();
    REQUIRE(login.agreed());
    const auto held = [&](const char* credential) {
        LinkSecret secret{};
        const auto payload = login.mint.open(credential).payload;
        std::copy_n(payload.begin() + kSecretAt, secret.size(), secret.begin());
        return secret;
    };
    const LinkKeys stolen =
        derive_link_keys(held("CRED0"), held("CRED1"), {}, hash_transcript(recorded));
    CHECK((stolen.to_acceptor.key == login.connector_keys->to_acceptor.key) == (version == 1));
}

TEST_CASE("a public key that has one common secret with all others is refused") {
    Login login;
    const bool at_acceptor = GENERATE(true, false);
    login.opened = [&](OpenedCredential& opened, bool by_acceptor) {
        if (by_acceptor == at_acceptor) {
            std::fill_n(opened.payload.begin() + kSecretAt, sizeof(LinkSecret), std::byte{0});
        }
    };
    login.run();
    CHECK_FALSE(login.agreed());
    CHECK_THAT(at_acceptor ? login.acceptor_error : login.connector_error,
               Catch::Contains("has no valid public key"));
}

TEST_CASE("an acceptor that does not know its name takes the one it is called by") {
    Login login;
    login.acceptor_start.own_name.clear();
    login.run();
    CHECK(login.agreed());
    CHECK(login.acceptor->own_name() == "n3");
}

TEST_CASE("a daemon of another node is named") {
    Login login;
    login.acceptor_start.own_name = "n5";
    login.run();
    CHECK_FALSE(login.agreed());
    CHECK_THAT(login.connector_error, Catch::Contains("that of node n5; check NodeAddr"));
    CHECK_THAT(login.acceptor_error, Catch::Contains("node n0 addresses this node as n3"));
}

TEST_CASE("a daemon of another cluster is answered by a name in this one") {
    Login login;
    login.connector_start.own_name = "a/n0";
    login.connector_start.peer_name = "b/n3";
    login.acceptor_start.cluster_name = "b";
    SECTION("which it calls") {
        login.run();
        CHECK(login.acceptor_keys);
        CHECK(login.acceptor->peer_name() == "a/n0");
        CHECK(login.acceptor->own_name() == "b/n3");
    }
    SECTION("and by no other") {
        login.connector_start.peer_name = GENERATE("b/n4", "c/n3", "n3", "/n3", "b/");
        login.run();
        CHECK_FALSE(login.acceptor_keys);
        CHECK_THAT(login.acceptor_error, Catch::Contains("addresses this node as"));
    }
    SECTION("not even if it does not know its own yet") {
        login.acceptor_start.own_name.clear();
        login.run();
        CHECK_FALSE(login.acceptor_keys);
    }
    SECTION("unless it has none") {
        login.acceptor_start.cluster_name.clear();
        login.connector_start.peer_name = GENERATE("b/n3", "/n3");
        login.run();
        CHECK_FALSE(login.acceptor_keys);
    }
}

TEST_CASE("a node of this cluster can't call it by a name for others") {
    Login login;
    login.connector_start.peer_name = "b/n3";
    login.acceptor_start.cluster_name = "b";
    login.run();
    CHECK_FALSE(login.acceptor_keys);
}

TEST_CASE("the highest common version is taken, none is an error at both ends") {
    Login login;
    login.connector_start.versions = {1, 4};
    SECTION("common") {
        login.acceptor_start.versions = {2, 3};
        login.run();
        CHECK(login.agreed());
        CHECK(login.connector->version() == 3);
        CHECK(login.acceptor->version() == 3);
    }
    SECTION("none") {
        login.acceptor_start.versions = {5, 6};
        login.run();
        CHECK_FALSE(login.agreed());
        CHECK(login.connector_error ==
              "stagecastd of node n3 uses version 5 to 6 of the daemons' protocol, that of "
              "node "
              "n0 version 1 to 4; install the same release of stagecast on both");
        CHECK_THAT(login.acceptor_error,
                   Catch::Contains("node n0 uses version 1 to 4") &&
                       Catch::Contains("node n3 version 5 to 6"));
    }
}

TEST_CASE("clock skew is reported with both names, on either side") {
    Login login;
    const bool acceptor_notices = GENERATE(true, false);
    const std::int64_t ahead = GENERATE(-3600, 3600);
    login.opened = [&](OpenedCredential& opened, bool by_acceptor) {
        if (by_acceptor == acceptor_notices) {
            opened.state = ahead > 0 ? CredentialState::rewound : CredentialState::expired;
            opened.decoded_at = opened.encoded_at - ahead;
        }
    };
    login.run();
    CHECK_FALSE(login.agreed());
    const std::string maker = acceptor_notices ? "n0" : "n3";
    CHECK_THAT(login.connector_error,
               Catch::Contains("the clocks of nodes ") && Catch::Contains("n0") &&
                   Catch::Contains("n3") && Catch::Contains("are 3600 s apart") &&
                   Catch::Contains(maker + (ahead > 0 ? " is ahead" : " is behind")));
    if (acceptor_notices) {
        CHECK(login.acceptor_error == login.connector_error);
    }
}

TEST_CASE("a credential of an earlier connection is a replay") {
    Login earlier;
    earlier.run();
    REQUIRE(earlier.agreed());
    const bool at_acceptor = GENERATE(true, false);
    const OpenedCredential stolen = earlier.mint.open(at_acceptor ? "CRED0" : "CRED1");

    Login login;
    login.prng = Prng{2};
    login.connector_start = start(LinkRole::connector, login.prng);
    login.acceptor_start = start(LinkRole::acceptor, login.prng);
    login.opened = [&](OpenedCredential& opened, bool by_acceptor) {
        if (by_acceptor == at_acceptor) {
            opened = stolen;
        }
    };
    login.run();
    CHECK_FALSE(login.agreed());
    CHECK_THAT(at_acceptor ? login.acceptor_error : login.connector_error,
               Catch::Contains("for another connection: a replay"));
}

TEST_CASE("credentials of others than root are refused") {
    Login login;
    login.opened = [](OpenedCredential& opened, bool) { opened.uid = 1000; };
    SECTION("a user's") {
        login.run();
        CHECK_FALSE(login.agreed());
        CHECK_THAT(login.acceptor_error, Catch::Contains("made by uid 1000, not by root"));
        CHECK_THAT(login.connector_error, Catch::Contains("not run as root"));
    }
    SECTION("unless it is the configured SlurmUser") {
        login.connector_start.trusted_uids = {0, 1000};
        login.acceptor_start.trusted_uids = {0, 1000};
        login.run();
        CHECK(login.agreed());
    }
}

TEST_CASE("a credential turned back to its maker is refused") {
    Login login;
    std::string own;
    login.opened = [&](OpenedCredential& opened, bool by_acceptor) {
        if (!by_acceptor) {
            opened.payload = login.mint.made.begin()->second.payload;  // the connector's own
        }
    };
    login.run();
    CHECK_FALSE(login.connector_keys);
    CHECK_THAT(login.connector_error, Catch::Contains("not made for a stagecast login"));
}

TEST_CASE("no bit of a greeting or a payload can be changed on the way") {
    // Greetings travel in the clear, and version ranges and names are sealed in the
    // credentials.
    Login whole;
    std::vector<std::size_t> sizes;
    whole.bend = [&](auto& message, bool, int) { sizes.push_back(message.size()); };
    whole.run();
    REQUIRE(whole.agreed());
    for (int number = 1; number <= 4; ++number) {
        const std::size_t bits = sizes[static_cast<std::size_t>(number - 1)] * 8;
        for (std::size_t bit = 32; bit < bits; ++bit) {
            Login login;
            login.bend = [&](std::vector<std::byte>& message, bool, int at) {
                if (at == number) {
                    message[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
                }
            };
            login.run();
            CAPTURE(number, bit);
            REQUIRE_FALSE(login.agreed());
        }
    }
}

TEST_CASE("garbage ends a login, and nothing worse") {
    const auto seed = GENERATE(range(1U, 300U));
    CAPTURE(seed);
    Prng prng{seed};
    Login login;
    const int at = static_cast<int>(1 + prng.below(4));
    login.bend = [&](std::vector<std::byte>& message, bool, int number) {
        if (number == at) {
            message.resize(4 + prng.below(kGreetingMax));
            for (std::size_t i = 4; i < message.size(); ++i) {
                message[i] = static_cast<std::byte>(prng.below(256));
            }
            if (message.size() > 4) {
                message[4] = static_cast<std::byte>(1 + prng.below(3));
            }
        }
    };
    login.run();
    CHECK_FALSE(login.agreed());
}

TEST_CASE(
    "a refusal becomes an error message for every code, whatever an unauthorised peer claims "
    "in it") {
    for (int code = 0; code <= 9; ++code) {
        Login login;
        login.bend = [&](std::vector<std::byte>& message, bool to_acceptor, int) {
            if (!to_acceptor) {
                message = encode_refusal({.code = static_cast<RefusalCode>(code),
                                          .versions = {9, 2},
                                          .encoded_at = INT64_MIN,
                                          .decoded_at = INT64_MAX,
                                          .name = "n9"});
            }
        };
        login.run();
        CAPTURE(code);
        CHECK_FALSE(login.agreed());
        CHECK(login.connector_error.size() > 20);
    }
}
