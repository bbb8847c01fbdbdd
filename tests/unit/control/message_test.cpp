#include "stager/control/message.h"

#include "stager/control/frame.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace stage;

namespace {

const StageKey kKey{.job_id = 7, .step_id = 3, .restart = 2};

std::vector<Request> requests() {
    return {StageRequest{.key = kKey,
                         .uid = 2001,
                         .gid = 2002,
                         .node_name = "n0",
                         .node_list = "n[0-7,9]",
                         .work_dir = "/home/u",
                         .specs = "1;-,/a,",
                         .is_late = true},
            QueryRequest{kKey},
            EndRequest{.job_id = 7, .step_id = kWholeJob},
            PingRequest{},
            TicketRequest{.cluster = "b",
                          .for_uid = 2001,
                          .lifetime_s = 60,
                          .paths = {"/data/x", "/data/tree"}}};
}

std::vector<Answer> answers() {
    return {Verdict{.state = VerdictState::failed,
                    .blame = Blame::user,
                    .sentence = "node n3: no",
                    .stage_dir = "/stage/7",
                    .paths = {"/stage/7/a", "/scratch/b", "/stage/7/c\nd", "/stage/70/e"}},
            Verdict{},
            Verdict{.state = VerdictState::ok,
                    .stage_dir = "/stage/7",
                    .directories = {"/scratch", "/stage/7"}},
            Verdict{.state = VerdictState::partial, .dropped_nodes = "n2,n5"},
            Verdict{.state = VerdictState::dropped, .blame = Blame::node, .sentence = "no"},
            Ack{},
            Pong{"0.1.0"},
            Refused{.blame = Blame::node, .sentence = "not you"}};
}

}  // namespace

TEST_CASE("every message comes back as it was sent") {
    for (const Request& request : requests()) {
        const auto back = decode_request(encode(request));
        REQUIRE(back);
        CHECK(*back == request);
    }
    for (const Answer& answer : answers()) {
        const auto back = decode_answer(encode(answer));
        REQUIRE(back);
        CHECK(*back == answer);
    }
}

TEST_CASE("a message cut at any byte, or with one too many, is refused") {
    const auto refuses = [](std::vector<std::byte> whole, const auto& decode) {
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CHECK_FALSE(decode(Bytes{whole}.first(length)));
        }
        whole.push_back(std::byte{0});
        CHECK_FALSE(decode(whole));
    };
    for (const Request& request : requests()) {
        refuses(encode(request), decode_request);
        CHECK_FALSE(decode_answer(encode(request)));
    }
    for (const Answer& answer : answers()) {
        refuses(encode(answer), decode_answer);
        CHECK_FALSE(decode_request(encode(answer)));
    }
}

TEST_CASE("garbage is refused or is a message") {
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        CAPTURE(seed);
        Prng prng{seed};
        auto bytes = seed % 2 == 0 ? encode(requests()[prng.below(4)])
                                   : encode(answers()[prng.below(5)]);
        for (int i = 0; i < 4; ++i) {
            bytes[prng.below(bytes.size())] = static_cast<std::byte>(prng.below(256));
        }
        if (const auto request = decode_request(bytes)) {
            CHECK(*decode_request(encode(*request)) == *request);
        }
        if (const auto answer = decode_answer(bytes)) {
            CHECK(*decode_answer(encode(*answer)) == *answer);
        }
    }
}

TEST_CASE("another version is distinguished from garbage") {
    auto bytes = encode(Request{PingRequest{}});
    bytes[0] = std::byte{9};
    const auto back = decode_request(bytes);
    REQUIRE_FALSE(back);
    CHECK_THAT(back.error().sentence(), Catch::Contains("version 9"));
}

TEST_CASE("a path is absolute or refused") {
    auto request = std::get<StageRequest>(requests()[0]);
    request.work_dir = "home";
    CHECK_FALSE(decode_request(encode(request)));
    auto verdict = std::get<Verdict>(answers()[0]);
    verdict.stage_dir = "stage";
    verdict.paths.clear();
    CHECK_FALSE(decode_answer(encode(verdict)));
    verdict.stage_dir.clear();
    verdict.paths = {"relative"};
    CHECK_FALSE(decode_answer(encode(verdict)));
}

TEST_CASE("values within their limits fit a message") {
    const StageRequest largest{.key = kKey,
                               .node_name = std::string(kMaxNameBytes, 'n'),
                               .node_list = std::string(kMaxNodeListBytes, 'n'),
                               .work_dir = std::string(kMaxPathBytes, '/'),
                               .specs = std::string(kMaxSpecsBytes, 's')};
    CHECK(fits(largest));
    CHECK(encode(largest).size() <= kMaxMessageBytes);
    CHECK(decode_request(encode(largest)));
    auto too_long = largest;
    too_long.specs += 's';
    CHECK_FALSE(fits(too_long));
}

TEST_CASE("a verdict with all paths of a stage fits a message") {
    Verdict verdict{.state = VerdictState::ok, .stage_dir = "/" + std::string(500, 's')};
    for (std::size_t i = 0; i < kMaxSpecs; ++i) {
        verdict.paths.push_back(verdict.stage_dir + "/" + std::string(120, 'x') +
                                std::to_string(i));
    }
    REQUIRE(fits(verdict));
    CHECK(encode(verdict).size() <= kMaxMessageBytes);
    CHECK(std::get<Verdict>(*decode_answer(encode(verdict))) == verdict);
    verdict.paths.emplace_back("/one/more");
    CHECK_FALSE(fits(verdict));
    verdict.paths.assign(20, "/" + std::string(4000, 'x'));
    CHECK_FALSE(fits(verdict));
}

TEST_CASE("a long sentence is truncated") {
    const Refused refused{.blame = Blame::user, .sentence = std::string(10'000, 'x')};
    CHECK(std::get<Refused>(*decode_answer(encode(refused))).sentence.size() ==
          kMaxSentenceBytes);
    const Refused torn{.blame = Blame::user, .sentence = std::string("a\0b", 3)};
    CHECK(std::get<Refused>(*decode_answer(encode(torn))).sentence == "a");
}

TEST_CASE("printable text is one line") {
    CHECK(printable("a\nb\tc\\d\x1b\x7fü") == "a\\nb\\tc\\\\d\\x1b\\x7fü");
}

TEST_CASE("printable text commands no terminal") {
    // CSI of C1, as a byte of its own and in UTF-8.
    CHECK(printable("\x9b"
                    "2J") == "\\x9b2J");
    CHECK(printable("\xc2\x9b"
                    "2J") == "\\xc2\\x9b2J");
    CHECK(printable("\xc2\x80\xc2\xa0") == "\\xc2\\x80\xc2\xa0");
    // Hidden in what is no UTF-8: too long a form, a surrogate, a cut character.
    CHECK(printable("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");
    CHECK(printable("\xed\xa0\x9b") == "\\xed\\xa0\\x9b");
    CHECK(printable("\xe2\x82") == "\\xe2\\x82");
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
    for (const char* name : {"Größe", "Ελλάδα", "файл", "データ", "🧪", "\xdf\xbf"}) {
        CHECK(printable(name) == name);
    }
}

TEST_CASE("a stream is cut into its messages, however it arrives") {
    std::vector<std::byte> stream;
    for (const Request& request : requests()) {
        const auto one = framed(encode(request));
        stream.insert(stream.end(), one.begin(), one.end());
    }
    for (const std::size_t piece : {1UL, 3UL, 7UL, stream.size()}) {
        CAPTURE(piece);
        FrameReader reader{kMaxMessageBytes};
        std::vector<Request> got;
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            const auto length = std::min(piece, stream.size() - at);
            REQUIRE(reader.feed(Bytes{stream}.subspan(at, length)));
            while (const auto message = reader.next()) {
                got.push_back(*decode_request(*message));
            }
        }
        CHECK(got == requests());
        CHECK_FALSE(reader.is_midway());
    }
}

TEST_CASE("a frame of no length or too much is refused as soon as its length is known") {
    for (const std::uint32_t length : {0U, 101U, 0xffffffffU}) {
        FrameReader reader{100};
        ByteWriter writer;
        writer.u32(length);
        CHECK(reader.feed(writer.view().first(3)));
        CHECK_FALSE(reader.feed(writer.view().subspan(3)));
        CHECK_FALSE(reader.next());
        CHECK_FALSE(reader.feed(framed(as_bytes("x"))));
        CHECK_FALSE(reader.next());
    }
}

TEST_CASE("a frame of no length behind a good one is no message") {
    FrameReader reader{100};
    ByteWriter writer;
    writer.raw(framed(as_bytes("x"))).u32(0);
    CHECK(reader.feed(writer.view()));
    CHECK(reader.next());
    CHECK_FALSE(reader.next());
    CHECK_FALSE(reader.feed(framed(as_bytes("y"))));
}
