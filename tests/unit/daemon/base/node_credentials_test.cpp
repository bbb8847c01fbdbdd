// Tests that a daemon logs in by AuthKeyFile= where it is set, or not at all.
#include "stager/daemon/base/node_credentials.h"

#include "stager/daemon/base/loop.h"
#include "tests/unit/daemon/run_until.h"
#include "tests/unit/root.h"
#include "tests/unit/scratch.h"
#include "transport/base/codec.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

constexpr uid_t kSlurm = 64'030;

/// A node with that many bytes in its key file, and its daemon's loop.
struct Node {
    Scratch scratch;
    Loop loop = *Loop::open();
    Config config = default_config();

    explicit Node(const std::string& bytes) {
        config.auth_key_file = scratch.write("auth.key", bytes);
        REQUIRE(::chmod(config.auth_key_file.c_str(), 0600) == 0);
    }
    [[nodiscard]] std::string error() {
        const auto made = node_credentials(config, loop);
        return made ? "(none)" : made.error().sentence();
    }
};

}  // namespace

TEST_CASE("without AuthKeyFile= munge is asked") {
    Loop loop = *Loop::open();
    const auto made = node_credentials(default_config(), loop);
    REQUIRE(made);
    CHECK(*made == nullptr);
}

TEST_CASE("with AuthKeyFile= the loop answers, with this node's time", "[root]") {
    if (!is_root()) {
        return;
    }
    Node node{std::string(32, 'k')};
    auto made = node_credentials(node.config, node.loop);
    REQUIRE(made);
    REQUIRE(*made);
    std::string credential;
    OpenedCredential opened;
    (*made)->seal("n3", as_bytes("payload"), [&](const Result<std::string>& sealed) {
        credential = *sealed;
        (*made)->open(
            "n0", credential, [&](const Result<OpenedCredential>& found) { opened = *found; });
    });
    CHECK(credential.empty());
    run_until(node.loop, [&] { return opened.encoded_at != 0; });
    CHECK(opened.state == CredentialState::valid);
    CHECK(opened.payload.size() == 7);
}

TEST_CASE("an unfit AuthKeyFile= is an error, and never leads to munge", "[root]") {
    if (!is_root()) {
        return;
    }
    Node node{std::string(32, 'k')};
    const std::string& file = node.config.auth_key_file;
    SECTION("missing") {
        REQUIRE(::unlink(file.c_str()) == 0);
        CHECK_THAT(
            node.error(),
            Catch::Contains("AuthKeyFile=" + file + ": No such file or directory; make"));
    }
    SECTION("readable by others") {
        REQUIRE(::chmod(file.c_str(), 0640) == 0);
        CHECK_THAT(node.error(), Catch::Contains("others than its owner have rights to it"));
    }
    SECTION("too short") {
        node.scratch.write("auth.key", std::string(31, 'k'));
        CHECK_THAT(node.error(), Catch::Contains("it has 31 bytes, but 32 to 4096 are needed"));
    }
    SECTION("another user's, unless that is SlurmUser=") {
        REQUIRE(::chown(file.c_str(), kSlurm, kSlurm) == 0);
        CHECK_THAT(node.error(), Catch::Contains("or name its owner in SlurmUser="));
        node.config.slurm_user = kSlurm;
        CHECK(node.error() == "(none)");
    }
}

}  // namespace stage
