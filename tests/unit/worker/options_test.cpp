// Tests the engine's command line.
#include "stager/worker/engine/options.h"

#include "stager/messages/policy_fields.h"
#include "stager/worker/engine/key_file.h"
#include "tests/unit/files/scratch.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::Scratch;
using namespace std::chrono_literals;

std::string complaint(const std::vector<std::string>& arguments) {
    const auto options = parse_engine_options(arguments, "/here");
    return options ? "ok" : options.error().sentence();
}

}  // namespace

TEST_CASE("--look inspects a source or a destination") {
    const auto at = [](const std::vector<std::string>& words) {
        return parse_engine_options(words, "/here");
    };
    const auto source = at({"--look=content", "--source=a"});
    REQUIRE(source);
    CHECK(source->look == EngineOptions::Look::content);
    CHECK(at({"--look=room", "--dest=/x", "--manifest=00"})->manifest == "00");
    CHECK_FALSE(at({"--look=room", "--dest=/x"}));
    CHECK_FALSE(at({"--look=room", "--source=/x", "--manifest=00"}));
    CHECK_FALSE(at({"--look=all", "--source=/x"}));
}

TEST_CASE("a launcher passes the group and the time limit to meet") {
    const auto options = parse_engine_options(
        {"--group=-", "--dest=/x", "--durable=yes", "--timeout=60", "--connect-timeout=9"},
        "/");
    REQUIRE(options);
    CHECK(options->group == "-");
    CHECK(options->is_durable);
    CHECK(options->connect_timeout == 9s);
    CHECK(parse_engine_options({"--dest=/x", "--timeout=60"}, "/")->connect_timeout == 60s);
    CHECK_THAT(complaint({"--group=-", "--hosts=h", "--rank=1", "--dest=/x"}),
               Contains("exclude each other"));
    CHECK_THAT(complaint({"--dest=/x", "--durable=perhaps"}), Contains("--durable=perhaps"));
}

TEST_CASE("a full command line is parsed") {
    const auto options = parse_engine_options({"--hosts=h",
                                               "--rank=3",
                                               "--root=1",
                                               "--dest=out/",
                                               "--key-file=/k",
                                               "--interface=eth0+eth1,ib0",
                                               "--rate-max=400mbit",
                                               "--rate-remembered=1gbit",
                                               "--protection=auth",
                                               "--ttl=7",
                                               "--broadcast=yes",
                                               "--dscp=0",
                                               "--timeout=1.5",
                                               "--transport=udp"},
                                              "/here");
    REQUIRE(options);
    CHECK(options->hosts == "/here/h");
    CHECK(options->rank == Rank{3});
    CHECK(options->root == Rank{1});
    CHECK(options->destination == "/here/out/");
    CHECK(options->rate_max == 400'000'000);
    CHECK(options->rate_remembered == 1'000'000'000);
    CHECK(options->interfaces == std::vector<RailNames>{{"eth0", "eth1"}, {"ib0"}});
    CHECK(options->configured_rate == 0);
    CHECK(options->policies == Policies{});
    CHECK(options->protection == Protection::auth);
    CHECK(options->timeout == 1500ms);
    CHECK(options->port == 6830);
    CHECK(options->ttl == 7);
    CHECK(options->broadcasts);
    CHECK(options->dscp == 0);
}

TEST_CASE("each policy of the broadcast is an option") {
    const auto options = parse_engine_options({"--hosts=h",
                                               "--rank=0",
                                               "--source=s",
                                               "--protection=none",
                                               "--rate-control=acker",
                                               "--repair-peers=ring",
                                               "--readiness=none",
                                               "--flows=16"},
                                              "/here");
    REQUIRE(options);
    CHECK(options->policies == Policies{.rate = RatePolicy::acker,
                                        .peers = PeerPolicy::ring,
                                        .readiness = ReadinessPolicy::none,
                                        .flows = 16});
    CHECK(decode_policies(encode(options->policies)) == options->policies);
    CHECK(decode_policies(encode(Policies{})) == Policies{});
    for (unsigned byte = 0; byte < 128; ++byte) {
        CHECK(encode(decode_policies(static_cast<std::uint8_t>(byte))) == byte);
    }
    for (const char* wrong :
         {"--rate-control=x", "--repair-peers=x", "--readiness=x", "--flows=0", "--flows=17"}) {
        CHECK_THAT(
            complaint({"--hosts=h", "--rank=0", "--source=s", "--protection=none", wrong}),
            Contains(wrong));
    }
}

TEST_CASE("how a relay's members are arranged can be asked for") {
    const auto relay = [](const std::string& shape) {
        return parse_engine_options({"--hosts=h",
                                     "--rank=0",
                                     "--source=s",
                                     "--protection=none",
                                     "--transport=tcp",
                                     "--relay=" + shape},
                                    "/here");
    };
    CHECK(relay("auto")->relay == RelayShape::automatic);
    CHECK(relay("chain")->relay == RelayShape::chain);
    CHECK(relay("trees")->relay == RelayShape::two_trees);
    CHECK_FALSE(relay("tree"));
}

TEST_CASE("an invalid command line is refused with the reason") {
    CHECK_THAT(complaint({}), Contains("neither --source= nor --dest="));
    CHECK_THAT(complaint({"--hosts=h", "--rank=0", "--dest=x"}),
               Contains("root needs --source="));
    CHECK_THAT(complaint({"--hosts=h", "--rank=1", "--source=x"}), Contains("needs --dest="));
    CHECK_THAT(complaint({"--hosts=h", "--rank=1", "--dest=x"}), Contains("--key-file="));
    CHECK_THAT(complaint({"--hosts=h", "--dest=x"}), Contains("--rank="));
    CHECK_THAT(complaint({"--rank=x", "--hosts=h", "--dest=x"}), Contains("--rank=x"));
    CHECK_THAT(complaint({"--rank=70000", "--hosts=h", "--dest=x"}), Contains("--rank=70000"));
    CHECK_THAT(complaint({"--source=x", "--rate-max=fast"}), Contains("--rate-max=fast"));
    CHECK_THAT(complaint({"--source=x", "--rate-remembered=0"}),
               Contains("--rate-remembered=0"));
    CHECK_THAT(complaint({"--source=x", "--protection=some"}), Contains("--protection=some"));
    CHECK_THAT(complaint({"--source=x", "--timeout=0"}), Contains("--timeout=0"));
    CHECK_THAT(complaint({"--source=x", "--interface=a++b"}), Contains("--interface=a++b"));
    CHECK_THAT(complaint({"--source=x", "--transport=pigeon"}), Contains("--transport=pigeon"));
    for (const char* wrong :
         {"--ttl=0", "--ttl=256", "--ttl=x", "--dscp=64", "--dscp=-1", "--broadcast=some"}) {
        CHECK_THAT(complaint({"--source=x", wrong}), Contains(wrong));
    }
    CHECK_THAT(complaint({"--sauce=x"}), Contains("sauce"));
    CHECK_THAT(complaint({"x"}), Contains("--help"));
    CHECK(complaint({"--help"}) == "ok");
    CHECK_THAT(engine_help(), Contains("--rate-max") && Contains("Exit code 0"));
}

TEST_CASE("a key file is 32 bytes or their hexadecimal digits, readable by its owner only") {
    const Scratch scratch;
    const auto key_of = [&](const std::string& content, mode_t mode) {
        const std::string path = scratch.write("key", content);
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        return read_key_file(path);
    };
    const auto raw = key_of(std::string(32, '\x5a'), 0600);
    REQUIRE(raw);
    std::string digits;
    for (int i = 0; i < 32; ++i) {
        digits += i % 2 == 0 ? "5a" : "5A";
    }
    CHECK(*key_of(digits, 0600) == *raw);
    CHECK(*key_of(digits + '\n', 0400) == *raw);
    CHECK_THAT(key_of(std::string(31, 'x'), 0600).error().sentence(),
               Contains("does not contain a 32-byte key"));
    CHECK_THAT(key_of(digits + "00", 0600).error().sentence(),
               Contains("does not contain a 32-byte key"));
    CHECK_THAT(key_of(std::string(64, 'g'), 0600).error().sentence(),
               Contains("does not contain a 32-byte key"));
    CHECK_THAT(key_of(std::string(32, 'x'), 0640).error().sentence(),
               Contains("is readable by others"));
    CHECK_THAT(read_key_file("/nowhere").error().sentence(), Contains("No such file"));
}

}  // namespace stage
