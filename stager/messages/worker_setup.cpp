#include "stager/messages/worker_setup.h"

#include "transport/base/fields.h"

namespace stage {
namespace {

constexpr TypeNumbers<ToWorker> kToWorker{1, 2, 3, 4, 5, 6};
constexpr TypeNumbers<FromWorker> kFromWorker{65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76};

}  // namespace

void fields(auto& on, Like<WorkerSetup> auto& setup) {
    fields_of_settings(on, setup);
    on.with(setup.key, put_key, take_key).number(setup.rank).number(setup.source);
    on.texts(setup.nodes, kMaxMembers, kMaxNameBytes);
    on.any_text(setup.specs, kMaxSpecsBytes);
    on.text(setup.work_dir, kMaxPathBytes).text(setup.stage_dir, kMaxPathBytes);
    on.text(setup.dest_subdir, kMaxPathBytes);
    on.texts(setup.dest_roots, kMaxSpecs, kMaxPathBytes).number(setup.max_bytes);
    on.list(setup.endpoints, kMaxSetupEndpoints, [](auto& inner, auto& endpoint) {
        inner.text(endpoint.fabric, kMaxNameBytes).number(endpoint.descriptors);
        inner.blob(endpoint.description, kMaxSetupEndpointBytes);
    });
    on.flag(setup.may_compress);
    on.time(setup.stage_timeout).time(setup.stall_timeout);
    on.time(setup.wire_up_timeout).time(setup.connect_timeout).time(setup.linger);
    on.choice(setup.purpose, WorkerPurpose::bring_in).blob(setup.manifest, kMaxLookBytes);
    on.flag(setup.keeps_owners).flag(setup.may_cache).text(setup.data_ports, kMaxNameBytes);
    on.require(setup.rank.index() < setup.nodes.size() &&
               setup.source.index() < setup.nodes.size());
}

void fields(auto& on, Like<WorkerAbort> auto& abort) {
    on.choice(abort.blame, Blame::internal).cut(abort.sentence, kMaxSentenceBytes);
}

void fields(auto& on, Like<WorkerCards> auto& cards) {
    on.blob(cards.table, kMaxCardTableBytes);
}

void fields(auto& /*on*/, Like<WorkerRelease> auto& /*release*/) {
}

void fields(auto& on, Like<WorkerCacheReply> auto& reply) {
    on.blob(reply.about, kMaxCacheNameBytes).blob(reply.content, kMaxCacheNameBytes);
}

void fields(auto& /*on*/, Like<WorkerListening> auto& /*listening*/) {
}

void fields(auto& on, Like<WorkerProgress> auto& progress) {
    on.choice(progress.phase, WorkerPhase::serve);
    on.number(progress.bytes).number(progress.bytes_total);
}

void fields(auto& on, Like<WorkerCard> auto& card) {
    on.blob(card.card, kMaxCardBytes);
}

void fields(auto& on, Like<WorkerOutcome> auto& outcome) {
    on.choice(outcome.state, VerdictState::failed).choice(outcome.blame, Blame::internal);
    on.cut(outcome.sentence, kMaxSentenceBytes).number(outcome.culprit);
    on.texts(outcome.paths, kMaxSpecs, kMaxPathBytes);
    on.texts(outcome.libs_directories, kMaxSpecs, kMaxPathBytes);
    on.texts(outcome.directories, kMaxDirectories, kMaxPathBytes);
    fields(on, outcome.statistics);
}

void fields(auto& on, Like<WorkerReleased> auto& released) {
    fields(on, released.statistics);
}

void fields(auto& on, Like<WorkerLook> auto& look) {
    on.blob(look.manifest, kMaxLookBytes).number(look.bytes).number(look.blocks);
    on.number(look.object_bytes).raw(look.identity).text(look.digest, kMaxNameBytes);
}

void fields(auto& on, Like<WorkerAsk> auto& ask) {
    on.blob(ask.about, kMaxCacheNameBytes);
}

void fields(auto& on, Like<WorkerKeep> auto& keep) {
    on.raw(keep.stamp).raw(keep.sum).number(keep.bytes);
}

void fields(auto& on, Like<WorkerSpoilt> auto& spoilt) {
    on.blob(spoilt.content, kMaxCacheNameBytes);
}

void fields(auto& on, Like<WorkerSeek> auto& seek) {
    on.raw(seek.stamp);
}

void fields(auto& on, Like<WorkerBegun> auto& begun) {
    on.raw(begun.stamp).number(begun.bytes);
}

void fields(auto& on, Like<WorkerLeft> auto& left) {
    on.texts(left.entries, kMaxEntries, kMaxEntryBytes);
}

void fields(auto& on, Like<WorkerDropped> auto& dropped) {
    on.number(dropped.rank).choice(dropped.blame, Blame::internal);
    on.cut(dropped.sentence, kMaxSentenceBytes);
}

std::vector<std::byte> encode_to_worker(const ToWorker& message) {
    return encoded(kWorkerVersion, kToWorker, message);
}

std::vector<std::byte> encode_from_worker(const FromWorker& message) {
    return encoded(kWorkerVersion, kFromWorker, message);
}

Result<ToWorker> decode_to_worker(Bytes bytes) {
    auto message = decoded<ToWorker>(kWorkerVersion, kToWorker, bytes);
    if (!message) {
        return Error{Blame::internal, "malformed or unknown message from stagecastd"};
    }
    return *std::move(message);
}

Result<FromWorker> decode_from_worker(Bytes bytes) {
    auto message = decoded<FromWorker>(kWorkerVersion, kFromWorker, bytes);
    if (!message) {
        return Error{Blame::internal, "malformed or unknown message from the worker"};
    }
    return *std::move(message);
}

}  // namespace stage
