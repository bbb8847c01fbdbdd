#include "transport/core/source/source_repairs.h"

#include "transport/core/feedback/representatives.h"

namespace stage::core {

SourceRepairs::SourceRepairs(const CoreConfig& config,
                             const Limits& limits,
                             std::uint32_t chunks_max,
                             const Holdings& holdings,
                             BufferPool& pool)
    : server_{limits, config.chunk_bytes, holdings, pool},
      shared_loss_{limits.feedback, representatives_of(config, limits.feedback), chunks_max} {
}

void SourceRepairs::on_request(Instant now,
                               const SharedLoss::Asking& asking,
                               const wire::Request& request,
                               ControlQueue& out) {
    wire::Request alone{.id = request.id, .runs = {}};
    std::vector<wire::ChunkRun> shared;
    shared_loss_.on_request(now, asking, request, alone, shared);
    if (!alone.runs.empty()) {
        server_.on_request(now, asking.from, alone, out);
    }
    repeat(now, shared);
}

void SourceRepairs::on_missing(Instant now, const std::vector<wire::ChunkRun>& runs) {
    std::vector<wire::ChunkRun> shared;
    for (const wire::ChunkRun& run : runs) {
        shared_loss_.on_missing(run, shared);
    }
    repeat(now, shared);
}

void SourceRepairs::repeat(Instant now, const std::vector<wire::ChunkRun>& runs) {
    for (const wire::ChunkRun& run : runs) {
        if (server_.repeat(now, run)) {
            shared_loss_.on_repeat(now, run);
        }
    }
}

}  // namespace stage::core
