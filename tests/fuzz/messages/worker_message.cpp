// Fuzzes the messages between the daemon and its worker.
//
// The first byte chooses the direction.
#include "stager/messages/worker_setup.h"
#include "tests/fuzz/fuzz.h"

namespace stage {
namespace {

bool check_to_worker(Bytes input) {
    return is_stable(input, decode_to_worker, [](const ToWorker& message) {
        if (const auto* setup = std::get_if<WorkerSetup>(&message)) {
            invariant(setup->rank.index() < setup->nodes.size() &&
                          setup->source.index() < setup->nodes.size(),
                      "worker and source are among the nodes");
            invariant(setup->endpoints.size() <= kMaxSetupEndpoints, "fabrics are few");
        }
        return encode_to_worker(message);
    });
}

/// A worker is its user's process.
bool check_from_worker(Bytes input) {
    return is_exact(input, decode_from_worker, [](const FromWorker& message) {
        if (const auto* outcome = std::get_if<WorkerOutcome>(&message)) {
            invariant(outcome->paths.size() <= kMaxSpecs, "an outcome's paths are few");
            invariant(outcome->state <= VerdictState::failed, "an outcome is one");
        }
        return encode_from_worker(message);
    });
}

WorkerSetup full_setup() {
    WorkerSetup setup;
    setup.key = {.job_id = 4711, .step_id = 2, .restart = 1};
    setup.rank = Rank{1};
    setup.nodes = {"n0", "n1"};
    setup.specs = "1;-,/shared/a,";
    setup.work_dir = "/home/alice";
    setup.stage_dir = "/var/spool/stagecast/4711";
    setup.dest_subdir = "step.2";
    setup.dest_roots = {"/tmp", "/scratch"};
    setup.max_bytes = 1ULL << 40U;
    setup.session.fill(std::byte{1});
    setup.group_key.fill(std::byte{2});
    setup.group_address = "239.192.0.7";
    setup.group_port = 6835;
    setup.policies.flows = 2;
    setup.rails = 2;
    setup.endpoints = {{"udp", 3, {std::byte{1}, std::byte{2}}}, {"tcp", 1, {}}};
    setup.rate_max = 1'000'000'000;
    setup.transport = Transport::udp;
    setup.stage_timeout = std::chrono::minutes{10};
    setup.stall_timeout = std::chrono::seconds{30};
    setup.wire_up_timeout = std::chrono::seconds{10};
    setup.connect_timeout = std::chrono::seconds{5};
    setup.data_ports = "6830-6893";
    setup.linger = std::chrono::seconds{5};
    setup.cards_follow = true;
    setup.purpose = WorkerPurpose::look;
    setup.manifest = owned("manifest");
    setup.may_cache = true;
    setup.drops_failed = true;
    return setup;
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const Bytes message = input.subspan(1);
    return input.front() == std::byte{0} ? check_to_worker(message)
                                         : check_from_worker(message);
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto down = [](const ToWorker& message) {
        return chosen(0, encode_to_worker(message));
    };
    const auto up = [](const FromWorker& message) {
        return chosen(1, encode_from_worker(message));
    };
    const WorkerAbort abort{.blame = Blame::user, .sentence = "node n3: /x: Disk full"};
    const WorkerProgress progress{
        .phase = WorkerPhase::transfer, .bytes = 1U << 20U, .bytes_total = 10U << 20U};
    const WorkerOutcome outcome{.state = VerdictState::partial,
                                .blame = Blame::user,
                                .sentence = "/shared/b: No such file or directory",
                                .culprit = Rank{0},
                                .paths = {"/var/spool/stagecast/4711/a", ""},
                                .libs_directories = {"/tmp/prog_libs/"},
                                .directories = {"/tmp/d"},
                                .statistics = {.node = {.bytes_read = 1U << 20U},
                                               .bytes = 1U << 20U,
                                               .remarks = "1 socket left out (/shared/s)",
                                               .flow_packets = {3, 4}}};
    return {
        {"setup", down(full_setup())},
        {"abort", down(abort)},
        {"cards", down(WorkerCards{owned("cards")})},
        {"release", down(WorkerRelease{})},
        {"listening", down(WorkerListening{})},
        {"cache_reply", down(WorkerCacheReply{owned("a stamp"), owned("a content")})},
        {"ask", up(WorkerAsk{owned("a stamp")})},
        {"keep", up(WorkerKeep{.stamp = {std::byte{1}}, .sum = {std::byte{2}}, .bytes = 9})},
        {"spoilt", up(WorkerSpoilt{owned("a content")})},
        {"seek", up(WorkerSeek{.stamp = {std::byte{1}}})},
        {"left", up(WorkerLeft{{"U/tmp/x", "12.3:/tmp/x", "/tmp/.x.stagecast.42.0"}})},
        {"begun", up(WorkerBegun{.stamp = {std::byte{1}}, .bytes = 9})},
        {"progress", up(progress)},
        {"card", up(WorkerCard{owned("a card")})},
        {"outcome", up(outcome)},
        {"dropped", up(WorkerDropped{Rank{1}, Blame::node, "nothing was heard of it"})},
        {"released", up(WorkerReleased{})},
        {"look",
         up(WorkerLook{.manifest = owned("manifest"),
                       .bytes = 1U << 20U,
                       .blocks = 2,
                       .object_bytes = 1U << 20U,
                       .digest = "00ff"})}};
}

}  // namespace stage
