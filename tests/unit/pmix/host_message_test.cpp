#include "pmix/host_message.h"

#include "transport/base/codec.h"
#include "transport/base/prng.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace stage {
namespace {

HostJob some_job() {
    return {.uid = 2001,
            .gid = 2002,
            .name_space = "stagecast.7.4294967295.0",
            .rank = Rank{1},
            .nodes = {"n0", "n1", "n2"}};
}

const std::vector<ToHost>& all_to_host() {
    static const std::vector<ToHost> all{
        some_job(),
        HostFenceDown{.sequence = 3, .data = std::vector<std::byte>(1000, std::byte{7})},
        HostFenceDown{.sequence = 0, .data = {}},
        HostGroupDown{.sequence = 4, .context_id = 0x1122334455667788U},
        HostAbort{},
        HostDone{}};
    return all;
}

const std::vector<FromHost>& all_from_host() {
    static const std::vector<FromHost> all{
        HostReady{.gated = true},
        HostEnv{.variables = {"PMIX_RANK=1", "EMPTY=", "A=b=c"}},
        HostConnected{},
        HostFinalized{},
        HostFenceUp{.sequence = 9, .data = std::vector<std::byte>(kMaxFencePartBytes)},
        HostGroupUp{.sequence = 10},
        HostFailed{.blame = Blame::node, .sentence = "munged is silent"}};
    return all;
}

TEST_CASE("every message comes back, and no part or more of it") {
    for (const ToHost& message : all_to_host()) {
        std::vector<std::byte> bytes = encode_to_host(message);
        REQUIRE(decode_to_host(bytes));
        CHECK(*decode_to_host(bytes) == message);
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            CHECK_FALSE(decode_to_host(Bytes{bytes}.first(length)));
        }
        CHECK_FALSE(decode_from_host(bytes));
        bytes.push_back(std::byte{});
        CHECK_FALSE(decode_to_host(bytes));
    }
    for (const FromHost& message : all_from_host()) {
        std::vector<std::byte> bytes = encode_from_host(message);
        REQUIRE(decode_from_host(bytes));
        CHECK(*decode_from_host(bytes) == message);
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            CHECK_FALSE(decode_from_host(Bytes{bytes}.first(length)));
        }
        CHECK_FALSE(decode_to_host(bytes));
        bytes.push_back(std::byte{});
        CHECK_FALSE(decode_from_host(bytes));
    }
}

TEST_CASE("of a host's variables only those count that lead to its server") {
    for (const char* const good : {"PMIX_NAMESPACE=x",
                                   "PMIX_RANK=0",
                                   "PMIX_SERVER_URI41=x;tcp4://127.0.0.1:4711",
                                   "PMIX_SERVER_TMPDIR=/x",
                                   "PMIX_GDS_MODULE=hash",
                                   "PMIX_VERSION=5.0.1"}) {
        CAPTURE(good);
        CHECK(is_wire_up_variable(good));
    }
    for (const char* const bad : {"LD_PRELOAD=/x",
                                  "HOME=/x",
                                  "PMIX_MCA_mca_base_component_path=/x",
                                  "PMIX_PREFIX=/x",
                                  "PMIX_INSTALL_PREFIX=/x",
                                  "PMIX_PKGLIBDIR=/x",
                                  "PMIX_RANK2=0",
                                  "PMIX_=x",
                                  "A=PMIX_RANK=0"}) {
        CAPTURE(bad);
        CHECK_FALSE(is_wire_up_variable(bad));
    }
}

TEST_CASE("changed messages are sound or refused") {
    Prng prng{7};
    for (const FromHost& message : all_from_host()) {
        const std::vector<std::byte> bytes = encode_from_host(message);
        for (int round = 0; round < 500; ++round) {
            std::vector<std::byte> changed = bytes;
            changed[prng.below(changed.size())] = static_cast<std::byte>(prng.below(256));
            if (const Result<FromHost> back = decode_from_host(changed)) {
                CHECK(decode_from_host(encode_from_host(*back)));
            }
        }
    }
}

/// A JOB as a daemon that checks nothing would write it.
std::vector<std::byte> raw_job(const HostJob& job) {
    ByteWriter out;
    out.u8(kHostVersion).u8(1).u32(job.uid).u32(job.gid).text(job.name_space);
    out.u16(job.rank.value()).u32(static_cast<std::uint32_t>(job.nodes.size()));
    for (const std::string& node : job.nodes) {
        out.text(node);
    }
    return out.take();
}

TEST_CASE("a job that makes no sense is refused") {
    HostJob job = some_job();
    REQUIRE(decode_to_host(raw_job(job)));
    SECTION("root's") {
        job.uid = 0;
    }
    SECTION("a rank that no member has") {
        job.rank = Rank{3};
    }
    SECTION("no node") {
        job.nodes.clear();
        job.rank = Rank{0};
    }
    SECTION("a node name that PMIx would take apart") {
        job.nodes[2] = "a,b";
    }
    SECTION("an empty node name") {
        job.nodes[0].clear();
    }
    SECTION("no namespace") {
        job.name_space.clear();
    }
    SECTION("a namespace that is a path") {
        job.name_space = "a/b";
    }
    SECTION("a namespace beyond PMIx' own limit") {
        job.name_space = std::string(201, 'a');
    }
    CHECK_FALSE(decode_to_host(raw_job(job)));
}

TEST_CASE("a host's sentence is one line") {
    const HostFailed failed{.blame = Blame::user, .sentence = "two\nlines\x1b[2J"};
    const auto back = decode_from_host(encode_from_host(failed));
    REQUIRE(back);
    CHECK(std::get<HostFailed>(*back).sentence == "two lines [2J");
}

TEST_CASE("an environment entry has a name") {
    for (const std::string& entry :
         {std::string{"=x"}, std::string{"x"}, std::string{"a=\0b", 4}}) {
        ByteWriter out;
        out.u8(kHostVersion).u8(34).u32(1).text(entry);
        CHECK_FALSE(decode_from_host(out.view()));
    }
}

struct Pair {
    UniqueFd daemon;
    UniqueFd host;

    Pair() {
        std::array<int, 2> fds{};
        const int type = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;
        REQUIRE(::socketpair(AF_UNIX, type, 0, fds.data()) == 0);
        daemon.reset(fds[0]);
        host.reset(fds[1]);
    }
};

TEST_CASE("a message crosses the socket, however long") {
    const Pair pair;
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{40'000}, std::size_t{5'000'000}}) {
        const HostFenceDown down{.sequence = 1,
                                 .data = std::vector<std::byte>(size, std::byte{0xff})};
        REQUIRE(send_host_message(pair.daemon.get(), encode_to_host(down)));
        const Result<HostReceived> got = receive_to_host(pair.host.get());
        REQUIRE(got);
        REQUIRE(got->kind == HostReceived::Kind::message);
        CHECK(*decode_to_host(got->message) == ToHost{down});
    }
    const HostFinalized finalized;
    REQUIRE(send_host_message(pair.host.get(), encode_from_host(finalized)));
    const Result<HostReceived> got = receive_from_host(pair.daemon.get());
    REQUIRE(got);
    CHECK(*decode_from_host(got->message) == FromHost{finalized});
}

TEST_CASE("an empty socket, a full one and a closed one are distinguished") {
    Pair pair;
    CHECK(receive_from_host(pair.daemon.get())->kind == HostReceived::Kind::nothing_yet);
    CHECK(receive_to_host(pair.host.get())->kind == HostReceived::Kind::nothing_yet);
    const auto message = encode_to_host(HostGroupDown{});
    Status sent;
    for (int i = 0; i < 100'000 && sent; ++i) {
        sent = send_host_message(pair.daemon.get(), message);
    }
    REQUIRE_FALSE(sent);
    CHECK(sent.error().cause() == EAGAIN);
    pair.host.reset();
    CHECK(receive_from_host(pair.daemon.get())->kind == HostReceived::Kind::closed);
    CHECK(send_host_message(pair.daemon.get(), message).error().cause() == EPIPE);
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for (int fd = 0; fd < 1024; ++fd) {
        count += ::fcntl(fd, F_GETFD) >= 0 ? 1U : 0U;
    }
    return count;
}

TEST_CASE("a host can't make its daemon hold descriptors or long messages") {
    const Pair pair;
    const std::size_t before = open_descriptors();
    const std::vector<std::byte> huge =
        encode_to_host(HostFenceDown{.sequence = 0, .data = std::vector<std::byte>(100'000)});
    REQUIRE(send_host_message(pair.host.get(), huge));
    const Result<HostReceived> got = receive_from_host(pair.daemon.get());
    REQUIRE(got);
    CHECK_FALSE(decode_from_host(got->message));
    CHECK(open_descriptors() == before);

    const std::vector<std::byte> raw(kMaxFromHost + 1);
    REQUIRE(::send(pair.host.get(), raw.data(), raw.size(), 0) > 0);
    CHECK_FALSE(receive_from_host(pair.daemon.get()));
}

}  // namespace
}  // namespace stage
