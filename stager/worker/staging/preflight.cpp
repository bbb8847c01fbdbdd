#include "stager/worker/staging/preflight.h"

#include "stager/worker/requests/absent.h"
#include "stager/worker/requests/orders.h"
#include "stager/worker/staging/present_files.h"

namespace stage {
namespace {

Result<WorkerLook> room_for(const Orders& orders, const WorkerSetup& setup) {
    SinkConfig config;
    config.writer = {.job = std::to_string(setup.key.job_id),
                     .rank = setup.rank.value(),
                     .group_size = static_cast<std::uint32_t>(setup.nodes.size())};
    config.order_of = [&orders](const ManifestEntry& entry) { return orders.target_of(entry); };
    config.bytes_max = setup.max_bytes;
    return setup.manifest.empty() ? WorkerLook{}
                                  : look_for_room(setup.manifest, std::move(config));
}

/// Files that are there already need no room.
Result<WorkerLook> look_at_target(const Orders& orders,
                                  const WorkerSetup& setup,
                                  Interrupts& interrupts) {
    PresentFiles present = present_files(orders,
                                         setup.manifest,
                                         setup.keeps_owners,
                                         interrupts,
                                         read_clock() + setup.stage_timeout / 2);
    if (present.digest.empty()) {
        return room_for(orders, setup);
    }
    WorkerLook look;
    look.bytes = present.bytes;
    look.digest = std::move(present.digest);
    return look;
}

}  // namespace

Result<WorkerLook> look_at(std::vector<SourceOrder> orders,
                           PreflightRequest request,
                           Interrupts& interrupts) {
    // The owner of a copy may be root.
    for (SourceOrder& order : orders) {
        order.choice.is_ownerless = request.compares;
    }
    // (A stamp makes the manifest longer.)
    const KnownContent stamps = [](const SourceStamp&) { return std::optional<Content>{}; };
    TRY(auto source,
        FileSource::open(orders,
                         request.bytes_max,
                         request.is_resumable ? stamps : KnownContent{},
                         page_room() / 2));
    WorkerLook look;
    look.bytes = (source)->manifest().stream_bytes();
    look.blocks = source->block_count();
    look.object_bytes = source->object_bytes();
    const Bytes manifest = (source)->manifest_bytes();
    look.identity = xxh3_128(manifest);
    if (manifest.size() <= kMaxLookBytes) {
        look.manifest.assign(manifest.begin(), manifest.end());
    }
    if (request.compares) {
        TRY(auto digest, digest_by_reading(*source, interrupts));
        look.digest = std::move(digest);
    }
    return look;
}

Result<WorkerLook> look_for_room(Bytes manifest, SinkConfig config) {
    FileSink sink{std::move(config)};
    TRY(sink.look(manifest));
    return WorkerLook{};
}

Result<WorkerLook> look_alone(const WorkerSetup& setup, Interrupts& interrupts) {
    TRY(interrupts.limit(setup.stage_timeout));
    TRY(const auto orders, Orders::parse(setup.specs, places_of(setup)));
    const bool is_source = setup.rank == setup.source;
    if (!is_source && setup.purpose == WorkerPurpose::look) {
        return look_at_target(orders, setup, interrupts);
    }
    const auto list = is_source ? orders.sources() : at_destination(orders);
    const PreflightRequest request{.bytes_max = setup.max_bytes,
                                   .compares = setup.purpose == WorkerPurpose::compare,
                                   .is_resumable = orders.is_any_resumable()};
    if (!list) {
        return list.error();
    }
    Result<WorkerLook> look = look_at(*list, request, interrupts);
    return look || is_source ? std::move(look) : about_copy(std::move(look).error());
}

int tell_look(const Result<WorkerLook>& look, ControlSocket& control) {
    WorkerOutcome outcome;
    outcome.state = look ? VerdictState::ok : VerdictState::failed;
    Status said = look ? control.say(FromWorker{*look}) : Status{};
    if (!look) {
        outcome.blame = look.error().blame();
        outcome.sentence = look.error().sentence();
    }
    said = said ? control.say(FromWorker{outcome}) : said;
    return said && look ? 0 : 1;
}

}  // namespace stage
