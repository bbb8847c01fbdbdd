#include "stager/daemon/tree/tree_message.h"

#include "stager/daemon/tree/plan.h"
#include "stager/messages/worker_setup.h"
#include "stager/slurm/host_list.h"
#include "transport/base/fields.h"

#include <algorithm>

namespace stage {
namespace {

/// In the order of TreeMessage.
constexpr TypeNumbers<TreeMessage> kTypes{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                          14, 15, 16, 17, 19, 20, 18, 21, 22, 23, 24, 25, 26};

/// Bytes of a plan with kMaxNodes names and addresses, and of a fence's result.
constexpr std::size_t kMaxPlanBytes = 3U << 20U;
constexpr std::size_t kMaxResultBytes = 4U << 20U;

void collective(auto& on, Like<Collective> auto& kind) {
    on.choice(kind, Collective::listening).require(kind >= Collective::fence);
}

}  // namespace

void fields(auto& on, Like<SetupMessage> auto& setup) {
    on.with(setup.key, put_key, take_key).number(setup.from).number(setup.to);
    on.number(setup.remaining_ms).blob(setup.plan, kMaxPlanBytes);
}

void fields(auto& on, Like<GatheredMessage> auto& gathered) {
    collective(on, gathered.kind);
    on.number(gathered.sequence);
    on.with(gathered.contributions, put_contributions, [](ByteReader& in) {
        return take_contributions(in, kMaxNodes);
    });
}

void fields(auto& on, Like<ResultMessage> auto& result) {
    collective(on, result.kind);
    on.number(result.sequence).blob(result.bytes, kMaxResultBytes);
}

void fields(auto& on, Like<Failure> auto& failure) {
    on.number(failure.rank).choice(failure.blame, Blame::internal);
    on.any_cut(failure.sentence, kMaxFailureBytes);
}

void fields(auto& on, Like<FailedMessage> auto& failed) {
    on.template list<std::uint8_t>(failed.failures,
                                   kMaxNamedFailures,
                                   [](auto& each, auto& failure) { fields(each, failure); });
}

void fields(auto& on, Like<GroupVerdict> auto& verdict) {
    on.choice(verdict.state, VerdictState::failed).choice(verdict.blame, Blame::internal);
    on.any_cut(verdict.sentence, kMaxSentenceBytes).number(verdict.culprit);
    on.list(verdict.dropped, kMaxNodes, [](auto& each, auto& rank) { each.number(rank); });
}

void fields(auto& /*on*/, Like<SettledMessage> auto& /*settled*/) {
}

void fields(auto& on, Like<PulseMessage> auto& pulse) {
    on.number(pulse.progress.done).number(pulse.progress.bytes_least);
    on.number(pulse.progress.slowest);
}

void fields(auto& on, Like<AskMessage> auto& ask) {
    on.with(ask.key, put_key, take_key).with(ask.request, put_request, take_request);
}

/// A word of a newer daemon counts as the last one here.
void fields(auto& on, Like<TellMessage> auto& tell) {
    on.with(
        tell.word,
        [](ByteWriter& out, TellWord word) { out.u8(static_cast<std::uint8_t>(word)); },
        [](ByteReader& in) { return TellWord{std::min<std::uint8_t>(in.u8(), 2)}; });
}

void fields(auto& /*on*/, Like<DirectMessage> auto& /*direct*/) {
}

void fields(auto& on, Like<ExamineMessage> auto& examine) {
    on.choice(examine.mode, PushMode::compare).any_text(examine.specs, kMaxSpecsBytes);
    on.blob(examine.manifest, kMaxLookBytes).raw(examine.token);
}

void fields(auto& on, Like<ExaminedMessage> auto& examined) {
    on.any_cut(examined.sentence, kMaxSentenceBytes).number(examined.bytes);
    on.any_text(examined.digest, kMaxNameBytes);
}

void fields(auto& on, Like<LeasedFile> auto& file) {
    on.number(file.uid).raw(file.stamp);
}

void fields(auto& on, Like<LeaseMessage> auto& lease) {
    fields(on, lease.file);
    on.flag(lease.may_wait);
}

void fields(auto& on, Like<LeasedMessage> auto& leased) {
    on.any_text(leased.node, kMaxNameBytes).any_text(leased.address, kMaxNameBytes);
}

void fields(auto& on, Like<HeldMessage> auto& held) {
    on.flag(held.is_held);
}

void fields(auto& on, Like<FetchMessage> auto& fetch) {
    fields(on, fetch.file);
}

void fields(auto& on, Like<FoundMessage> auto& found) {
    on.number(found.bytes);
    on.with(
        found.content,
        [](ByteWriter& out, const Content& content) { out.raw(bytes_of(content)); },
        [](ByteReader& in) {
            return content_of_bytes(in.raw(kContentBytes)).value_or(Content{});
        });
    on.raw(found.key).raw(found.nonce_base);
}

void fields(auto& on, Like<ReportQuestion> auto& question) {
    on.number(question.uid).choice(question.request.kind, StatusKind::explain);
    on.with(question.request.key, put_key, take_key);
}

void fields(auto& on, Like<ReportMessage> auto& report) {
    on.any_text(report.json, kMaxReportBytes);
}

void fields(auto& /*on*/, Like<TakeMessage> auto& /*take*/) {
}

void fields(auto& on, Like<PortsMessage> auto& ports) {
    on.number(ports.move).number(ports.port).number(ports.rank);
    on.template list<std::uint16_t>(
        ports.taken, kTakenPortsMax, [](auto& each, auto& port) { each.number(port); });
}

void fields(auto& on, Like<DropMessage> auto& drop) {
    fields(on, drop.failure);
}

void fields(auto& on, Like<PassageMessage> auto& passage) {
    on.any_text(passage.specs, kMaxSpecsBytes).blob(passage.manifest, kMaxLookBytes);
    on.raw(passage.token).any_text(passage.nodes, kMaxNodeListBytes);
    on.number(passage.blocks).number(passage.object_bytes).number(passage.rate);
    on.choice(passage.ack, PassageAck::gateway).require(passage.blocks > 0);
}

void fields(auto& on, Like<DigestMessage> auto& content) {
    on.number(content.bytes).any_text(content.digest, kMaxNameBytes);
}

void fields(auto& on, Like<ImportMessage> auto& import) {
    on.any_text(import.specs, kMaxSpecsBytes).raw(import.token).number(import.for_uid);
}

void fields(auto& on, Like<ExportMessage> auto& answer) {
    on.choice(answer.blame, Blame::internal).any_cut(answer.sentence, kMaxSentenceBytes);
    on.number(answer.blocks).number(answer.object_bytes).raw(answer.identity);
    on.require(answer.blocks > 0 || !answer.sentence.empty());
}

std::vector<std::byte> encode(const TreeMessage& message) {
    return encoded(kTreeVersion, kTypes, message);
}

Result<TreeMessage> decode_tree_message(Bytes bytes) {
    if (bytes.size() > 1 && bytes.front() != std::byte{kTreeVersion}) {
        return Error{Blame::node,
                     "its stagecastd uses version " + std::to_string(ByteReader{bytes}.u8()) +
                         " of the tree's messages, this one version " +
                         std::to_string(kTreeVersion)}
            .remedy("install the same stagecast on all nodes");
    }
    auto message = decoded<TreeMessage>(kTreeVersion, kTypes, bytes);
    if (!message) {
        return Error{Blame::node, "a malformed message from another node's stagecastd"};
    }
    return *std::move(message);
}

}  // namespace stage
