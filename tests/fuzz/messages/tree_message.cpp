// Fuzzes the messages of the control tree.
#include "stager/daemon/tree/tree_message.h"

#include "stager/daemon/tree/outcome.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

void check(const TreeMessage& message) {
    if (const auto* failed = std::get_if<FailedMessage>(&message)) {
        invariant(failed->failures.size() <= kMaxNamedFailures, "few failures travel");
        Failures all;
        for (const Failure& failure : failed->failures) {
            static_cast<void>(all.add(failure));
        }
        invariant(all.empty() || !all.sentence({"n0", "n1"}).empty(), "a failure has words");
    }
    if (const auto* gathered = std::get_if<GatheredMessage>(&message)) {
        for (const Contribution& one : gathered->contributions) {
            invariant(one.bytes.size() <= kMaxContributionBytes, "contributions are bounded");
            const auto outcome = decode_node_outcome(one.bytes);
            invariant(!outcome || same(encode(*outcome), one.bytes), "an outcome is exact");
        }
    }
}

}  // namespace

bool fuzz_one(Bytes input) {
    return is_stable(input, decode_tree_message, [](const TreeMessage& message) {
        check(message);
        return encode(message);
    });
}

std::vector<FuzzSeed> fuzz_seeds() {
    const SetupMessage setup{.key = {.job_id = 4711},
                             .from = Rank{0},
                             .to = Rank{1},
                             .remaining_ms = 60'000,
                             .plan = owned("the plan")};
    const GatheredMessage gathered{
        .kind = Collective::cards,
        .sequence = 1,
        .contributions = {{Rank{1}, {}}, {Rank{3}, owned("a card")}}};
    const NodeOutcome outcome{.state = VerdictState::partial,
                              .sentence = "/shared/x: No such file or directory",
                              .statistics = NodeStatistics{.bytes_read = 7}};
    const GatheredMessage outcomes{.kind = Collective::outcome,
                                   .sequence = 1,
                                   .contributions = {{Rank{1}, encode(outcome)}}};
    const ResultMessage result{
        .kind = Collective::group, .sequence = 2, .bytes = ByteWriter{}.u64(42).take()};
    const FailedMessage failed{
        {{.rank = Rank{3}, .blame = Blame::user, .sentence = "/x: Permission denied"},
         {.rank = Rank{5}, .blame = Blame::node, .sentence = "stagecastd does not answer"}}};
    const GroupVerdict verdict{.state = VerdictState::failed,
                               .blame = Blame::user,
                               .sentence = "node n3: /x: Permission denied"};
    const GroupVerdict dropping{.state = VerdictState::partial,
                                .blame = Blame::node,
                                .sentence = "node n3: silent; the other nodes have the files",
                                .culprit = Rank{3},
                                .dropped = {Rank{3}, Rank{5}}};
    const DropMessage drop{{.rank = Rank{3}, .blame = Blame::node, .sentence = "silent"}};
    const PassageMessage passage{.specs = "1;wd,/a,/b",
                                 .manifest = {std::byte{1}},
                                 .token = {std::byte{2}},
                                 .nodes = "n[0-7]",
                                 .blocks = 7,
                                 .object_bytes = 7'000'000,
                                 .rate = 0,
                                 .ack = PassageAck::nodes};
    const LeasedFile file{.uid = 2001, .stamp = {std::byte{1}, std::byte{2}}};
    return {{"setup", encode(TreeMessage{setup})},
            {"gathered", encode(TreeMessage{gathered})},
            {"outcomes", encode(TreeMessage{outcomes})},
            {"result", encode(TreeMessage{result})},
            {"failed", encode(TreeMessage{failed})},
            {"verdict", encode(TreeMessage{verdict})},
            {"dropping", encode(TreeMessage{dropping})},
            {"drop", encode(TreeMessage{drop})},
            {"passage", encode(TreeMessage{passage})},
            {"digest", encode(TreeMessage{DigestMessage{1U << 20U, "00ff"}})},
            {"import",
             encode(TreeMessage{ImportMessage{
                 .specs = "1,fa,p00ff;-,/a,f0", .token = {std::byte{3}}, .for_uid = 2001}})},
            {"export", encode(TreeMessage{ExportMessage{.blocks = 7, .object_bytes = 7000}})},
            {"settled", encode(TreeMessage{SettledMessage{}})},
            {"examine",
             encode(TreeMessage{
                 ExamineMessage{PushMode::look, "1;wd,/a/b,/images/b", owned("manifest")}})},
            {"examined", encode(TreeMessage{ExaminedMessage{"", 1U << 20U, "00ff"}})},
            {"lease", encode(TreeMessage{LeaseMessage{file, true}})},
            {"leased", encode(TreeMessage{LeasedMessage{"n2", "10.0.0.3"}})},
            {"held", encode(TreeMessage{HeldMessage{true}})},
            {"fetch", encode(TreeMessage{FetchMessage{file}})},
            {"found", encode(TreeMessage{FoundMessage{1U << 20U, {}, {}, {}}})},
            {"question", encode(TreeMessage{ReportQuestion{2001, {StatusKind::explain, {}}}})},
            {"report", encode(TreeMessage{ReportMessage{R"({"stages":[]})"}})},
            {"take", encode(TreeMessage{TakeMessage{}})},
            {"pulse", encode(TreeMessage{PulseMessage{{3, 1U << 20U, Rank{2}}}})}};
}

}  // namespace stage
