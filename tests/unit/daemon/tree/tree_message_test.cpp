#include "stager/daemon/tree/tree_message.h"

#include "stager/daemon/tree/outcome.h"
#include "stager/daemon/tree/plan.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<std::byte>(i);
    }
    return bytes;
}

StageRequest some_request() {
    return {.key = {7, kWholeJob, 1},
            .uid = 2001,
            .gid = 2002,
            .node_name = "n0",
            .node_list = "n[0-1]",
            .work_dir = "/home/alice",
            .specs = "1;wd,/a/b,"};
}

std::vector<TreeMessage> every_kind() {
    return {
        SetupMessage{.key = {7, kWholeJob, 2},
                     .from = Rank{0},
                     .to = Rank{5},
                     .remaining_ms = 17'000,
                     .plan = some_bytes(40)},
        GatheredMessage{.kind = Collective::fence,
                        .sequence = 3,
                        .contributions = {{Rank{1}, some_bytes(9)}, {Rank{4}, {}}}},
        ResultMessage{.kind = Collective::cards, .sequence = 1, .bytes = some_bytes(300)},
        FailedMessage{{{Rank{2}, Blame::user, "disk full"}}},
        GroupVerdict{VerdictState::partial, Blame::user, "n1: /x is missing", Rank{1}},
        SettledMessage{},
        PulseMessage{{.done = 3, .bytes_least = 1U << 20U, .slowest = Rank{2}}},
        AskMessage{{7, 0, 1}},
        AskMessage{{7, kWholeJob, 1}, some_request()},
        TellMessage{TellWord::announced},
        TellMessage{TellWord::queued},
        DirectMessage{},
        ExamineMessage{PushMode::compare, "1;wd,/a/b,/images/b", some_bytes(9), {std::byte{7}}},
        ExaminedMessage{"/images/b: No space left on device", 7, "00ff"},
        LeaseMessage{{.uid = 2001, .stamp = {std::byte{3}, std::byte{4}}}, false},
        LeasedMessage{"n2", "10.0.0.3"},
        HeldMessage{true},
        FetchMessage{{.uid = 2001, .stamp = {std::byte{3}, std::byte{4}}}},
        FoundMessage{.bytes = 1U << 20U,
                     .content = {.key = {std::byte{5}}, .sum = {std::byte{6}}},
                     .key = {std::byte{7}},
                     .nonce_base = {std::byte{8}}},
        TakeMessage{},
        PortsMessage{.move = 1, .port = 0, .rank = Rank{3}, .taken = {6831, 6832}},
        PortsMessage{.move = 2, .port = 6840, .rank = Rank{}, .taken = {}},
        DropMessage{{Rank{3}, Blame::node, "nothing was heard of it"}},
        PassageMessage{.specs = "1;wd,/a,/b",
                       .manifest = {std::byte{1}},
                       .token = {std::byte{2}},
                       .nodes = "n[0-7]",
                       .blocks = 7,
                       .object_bytes = 7'000'000,
                       .rate = 1'000'000,
                       .ack = PassageAck::gateway},
        ImportMessage{.specs = "1,fa,p00ff;-,/a,f0", .token = {std::byte{3}}, .for_uid = 2001},
        ExportMessage{.blame = Blame::user, .sentence = "the ticket has expired"},
        ExportMessage{.blocks = 7, .object_bytes = 7'000'000, .identity = {std::byte{4}}},
        DigestMessage{},
        DigestMessage{.bytes = 1U << 20U, .digest = "00ff"},
        ReportQuestion{2001, {StatusKind::explain, {7, 0, 1}}},
        ReportMessage{R"({"stages":[]})"}};
}

StagePlan some_plan() {
    StagePlan plan;
    plan.session[3] = std::byte{9};
    plan.group_key[31] = std::byte{8};
    plan.width = 16;
    plan.context_base = 0xfedcba9876543210U;
    plan.group_address = "239.1.2.3";
    plan.group_port = 6830;
    plan.rails = 2;
    plan.rate_max = 1'000'000'000;
    plan.rate_is_configured = true;
    plan.push_specs = "1;wd,/a/b,/images/b";
    plan.push_token.fill(std::byte{5});
    plan.is_root_spared = true;
    plan.drops_failed = true;
    plan.policies = {.rate = RatePolicy::acker, .readiness = ReadinessPolicy::none, .flows = 2};
    plan.request = some_request();
    plan.nodes = {{"n0", "10.0.0.1"}, {"n1", "fd00::2"}};
    return plan;
}

}  // namespace

TEST_CASE("a decoded message equals the encoded one") {
    for (const TreeMessage& message : every_kind()) {
        CAPTURE(message.index());
        const auto heard = decode_tree_message(encode(message));
        REQUIRE(heard);
        CHECK(*heard == message);
    }
}

TEST_CASE("a message cut anywhere, or with something behind it, is none") {
    for (const TreeMessage& message : every_kind()) {
        CAPTURE(message.index());
        auto bytes = encode(message);
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            CHECK_FALSE(decode_tree_message(Bytes{bytes}.first(length)));
        }
        bytes.push_back(std::byte{0});
        CHECK_FALSE(decode_tree_message(bytes));
    }
}

TEST_CASE("another version is named, an unknown type refused") {
    auto bytes = encode(TreeMessage{PulseMessage{}});
    bytes[0] = std::byte{9};
    const auto other = decode_tree_message(bytes);
    REQUIRE_FALSE(other);
    CHECK_THAT(other.error().sentence(), Catch::Contains("version 9"));
    bytes = {std::byte{kTreeVersion}, std::byte{77}};
    CHECK_FALSE(decode_tree_message(bytes));
}

TEST_CASE("numbers that would ask for memory are refused unread") {
    const auto many = ByteWriter{}.u8(kTreeVersion).u8(2).u8(1).u32(0).u32(0xffffffffU).take();
    CHECK_FALSE(decode_tree_message(many));
    const auto no_kind = ByteWriter{}.u8(kTreeVersion).u8(2).u8(9).u32(0).u32(0).take();
    CHECK_FALSE(decode_tree_message(no_kind));
    const auto long_part =
        ByteWriter{}.u8(kTreeVersion).u8(2).u8(1).u32(0).u32(1).u16(0).u32(1U << 30U).take();
    CHECK_FALSE(decode_tree_message(long_part));
}

TEST_CASE("a plan travels whole or not at all") {
    const StagePlan plan = some_plan();
    const auto bytes = encode(plan);
    const auto again = decode_plan(bytes);
    REQUIRE(again);
    CHECK(*again == plan);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        CHECK_FALSE(decode_plan(Bytes{bytes}.first(length)));
    }
    StagePlan empty = plan;
    empty.nodes.clear();
    CHECK_FALSE(decode_plan(encode(empty)));
    StagePlan no_tree = plan;
    no_tree.width = 0;
    CHECK_FALSE(decode_plan(encode(no_tree)));
    StagePlan no_flow = plan;
    no_flow.rails = 3;
    CHECK_FALSE(decode_plan(encode(no_flow)));
    no_flow.rails = 0;
    CHECK_FALSE(decode_plan(encode(no_flow)));
}

TEST_CASE("the digest knows specs, node list and owner, and not where one ends") {
    StageRequest request{.key = {1, kWholeJob, 0},
                         .uid = 10,
                         .gid = 10,
                         .node_name = "n0",
                         .node_list = "n[0-1]",
                         .work_dir = "/",
                         .specs = "abc"};
    const auto digest = digest_of(request);
    StageRequest other = request;
    other.node_name = "n1";
    CHECK(digest_of(other) == digest);
    other.uid = 11;
    CHECK(digest_of(other) != digest);
    other = request;
    other.specs = "abcn";
    other.node_list = "[0-1]";
    CHECK(digest_of(other) != digest);
}

TEST_CASE("a node's outcome comes back with what its worker counted, or with nothing") {
    NodeOutcome outcome{VerdictState::ok, Blame::user, ""};
    const std::vector<std::byte> without = encode(outcome);
    CHECK(decode_node_outcome(without) == outcome);
    outcome.statistics = NodeStatistics{.microseconds = 2'500'000,
                                        .packets_lost = 3,
                                        .packets_repaired = 4,
                                        .bytes_read = 5,
                                        .bytes_here = 6,
                                        .packet_payload = 1444,
                                        .was_unreachable = true,
                                        .was_handed_over = true};
    std::vector<std::byte> bytes = encode(outcome);
    CHECK(decode_node_outcome(bytes) == outcome);
    bytes.back() = std::byte{2};  // Neither true nor false.
    CHECK_FALSE(decode_node_outcome(bytes));
}

TEST_CASE("the outcomes of all nodes fit one message, however many they are") {
    const NodeOutcome outcome{VerdictState::partial,
                              Blame::user,
                              std::string(2000, 'x'),
                              NodeStatistics{.microseconds = 2'500'000}};
    for (const std::size_t nodes : {1U, 2'000U, 8'500U, 65'536U}) {
        CAPTURE(nodes);
        const Contribution one{Rank{1}, encode(outcome, nodes)};
        CHECK(nodes * (length_of({one}) - length_of({})) + length_of({}) <= kMaxGathered);
        const auto back = decode_node_outcome(one.bytes);
        REQUIRE(back);
        CHECK(back->sentence.size() >= 30);
        CHECK((!back->statistics || back->statistics == outcome.statistics));
    }
    CHECK(decode_node_outcome(encode(outcome, 2'000))->statistics == outcome.statistics);
    CHECK(encode(GatheredMessage{.kind = Collective::outcome,
                                 .sequence = 0,
                                 .contributions = {{Rank{0}, {}}}})
              .size() <= kFrameMax - kMaxGathered);
}

TEST_CASE("outcomes make ok, or partial with who misses what") {
    const std::vector<std::string> names{"n0", "n1"};
    const auto good = encode(NodeOutcome{VerdictState::ok, Blame::user, "", NodeStatistics{}});
    CHECK(verdict_of({{Rank{0}, good}, {Rank{1}, good}}, names).state == VerdictState::ok);

    const auto lacks = encode(NodeOutcome{
        VerdictState::partial, Blame::user, "/x: No such file or directory", NodeStatistics{}});
    const auto partial = verdict_of({{Rank{0}, good}, {Rank{1}, lacks}}, names);
    CHECK(partial.state == VerdictState::partial);
    CHECK(partial.sentence == "node n1: /x: No such file or directory");

    CHECK_FALSE(decode_node_outcome(some_bytes(3)));
    const auto odd = verdict_of({{Rank{0}, good}, {Rank{1}, some_bytes(3)}}, names);
    CHECK(odd.state == VerdictState::partial);
}

TEST_CASE("a group that drops failed nodes says which, and who lacks an optional file") {
    const std::vector<std::string> names{"n0", "n1", "n2", "n3"};
    const auto of = [](std::uint16_t rank, VerdictState state, const std::string& sentence) {
        return Contribution{Rank{rank}, encode(NodeOutcome{state, Blame::user, sentence})};
    };
    const Contribution root = of(0, VerdictState::ok, "");
    Failures failures;
    SECTION("none") {
        const auto all = verdict_without_failed({root,
                                                 of(1, VerdictState::ok, ""),
                                                 of(2, VerdictState::ok, ""),
                                                 of(3, VerdictState::ok, "")},
                                                names,
                                                failures);
        CHECK(all.state == VerdictState::ok);
        CHECK(all.dropped.empty());
    }
    SECTION("one that failed, one that was lost, one that lacks something") {
        const auto two = verdict_without_failed({root,
                                                 of(1, VerdictState::failed, "disk full"),
                                                 of(3, VerdictState::partial, "/x: missing")},
                                                names,
                                                failures);
        CHECK(two.state == VerdictState::partial);
        CHECK(two.blame == Blame::user);
        CHECK(two.dropped == std::vector{Rank{1}, Rank{2}});
        CHECK(names_of_dropped(two, names) == "n1,n2");
        CHECK(two.sentence ==
              "node n1: disk full (and 1 more node: n2: its stagecastd fell silent during the "
              "stage); the other nodes have the files; node n3: /x: missing");
        CHECK(failures.named().size() == 2);
    }
    SECTION("one that is known to be lost counts, whatever it had said") {
        CHECK(failures.add({Rank{3}, Blame::node, "gone"}));
        const auto one = verdict_without_failed({root,
                                                 of(1, VerdictState::ok, ""),
                                                 of(2, VerdictState::ok, ""),
                                                 of(3, VerdictState::ok, "")},
                                                names,
                                                failures);
        CHECK(one.dropped == std::vector{Rank{3}});
    }
    SECTION("the root alone is no success") {
        const auto none = verdict_without_failed({root}, names, failures);
        CHECK(none.state == VerdictState::failed);
        CHECK(none.dropped.empty());
    }
    SECTION("nor is a group whose dropped nodes no verdict can list") {
        const std::vector<std::string> many(200, std::string(200, 'x'));
        const auto lost =
            verdict_without_failed({root, of(1, VerdictState::ok, "")}, many, failures);
        CHECK(lost.state == VerdictState::failed);
        CHECK(lost.dropped.empty());
    }
}

TEST_CASE("failures travel, and hostile ones do not arrive") {
    Failures failures;
    CHECK(failures.add({Rank{1}, Blame::node, std::string(5000, 'x')}));
    CHECK(failures.add({Rank{2}, Blame::user, "why"}));
    const auto back = decode_tree_message(encode(FailedMessage{failures.named()}));
    REQUIRE(back);
    CHECK(std::get<FailedMessage>(*back).failures == failures.named());

    constexpr std::uint8_t kFailed = 4;
    const auto begin = [] { return ByteWriter{}.u8(kTreeVersion).u8(kFailed); };
    CHECK_FALSE(decode_tree_message(begin().u8(200).take()));
    const auto of_blame = [&](std::uint8_t blame) {
        return begin().u8(1).u16(0).u8(blame).text("x").take();
    };
    CHECK(decode_tree_message(of_blame(2)));
    CHECK_FALSE(decode_tree_message(of_blame(3)));
}
