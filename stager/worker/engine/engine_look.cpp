#include "stager/worker/engine/engine_look.h"

#include "stager/control/message.h"
#include "stager/worker/engine/engine_place.h"
#include "stager/worker/requests/absent.h"
#include "stager/worker/staging/preflight.h"
#include "transport/base/hex.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

Result<std::vector<std::byte>> manifest_of(const EngineOptions& options) {
    std::vector<std::byte> bytes(options.manifest.size() / 2);
    if (bytes.size() > kMaxLookBytes || !from_hex(options.manifest, bytes)) {
        return Error{Blame::internal, "--manifest= is not a valid manifest"};
    }
    return bytes;
}

Result<WorkerLook> look_here(const EngineOptions& options, Interrupts& interrupts) {
    const bool compares = options.look == EngineOptions::Look::content;
    SourceOrder order{.spec = 0, .path = options.source, .line = {}, .is_optional = false};
    if (!options.source.empty()) {
        return look_at({order}, {.bytes_max = 0, .compares = compares}, interrupts);
    }
    const Result<std::vector<std::byte>> bytes = manifest_of(options);
    const auto manifest = bytes ? decode_manifest(*bytes) : Result<Manifest>{bytes.error()};
    if (!manifest || manifest->entries.size() != 1) {
        return manifest ? Error{Blame::internal, "--manifest= does not describe one file"}
                        : manifest.error();
    }
    if (!compares) {
        return look_for_room(*bytes, engine_sink(options, Rank{1}, 2));
    }
    order.path = engine_place(options.destination, manifest->entries.front().name).path();
    Result<WorkerLook> look = look_at({order}, {.bytes_max = 0, .compares = true}, interrupts);
    return look ? std::move(look) : about_copy(std::move(look).error());
}

}  // namespace

int run_engine_look(const EngineOptions& options, Interrupts& interrupts) {
    const Status timed = interrupts.limit(options.timeout);
    const Result<WorkerLook> look =
        timed ? look_here(options, interrupts) : Result<WorkerLook>{timed.error()};
    if (!look) {
        static_cast<void>(std::fprintf(
            stderr, "stagecast-worker: %s\n", printable(look.error().sentence()).c_str()));
        return 1;
    }
    const nlohmann::json said{
        {"bytes", look->bytes}, {"digest", look->digest}, {"manifest", to_hex(look->manifest)}};
    return std::printf("%s\n", said.dump().c_str()) > 0 && std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace stage
