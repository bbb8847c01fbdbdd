#include "transport/run/broadcast.h"

#include "transport/base/invariant.h"
#include "transport/base/prng.h"
#include "transport/core/base/timeouts.h"
#include "transport/run/core_settings.h"
#include "transport/run/flow_reader.h"
#include "transport/run/loop.h"
#include "transport/run/make_core.h"
#include "transport/run/object/disk_queue.h"
#include "transport/run/object/object_io.h"
#include "transport/run/object/own_memory.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace stage {
namespace {

constexpr std::size_t kDeferredBlocksMax = 16;

/// What both sides share: everything but the core itself and the object.
class Member {
  public:
    Member(const BroadcastConfig& config, Driver& driver)
        : driver_{driver},
          seal_{keys_of(config)},
          config_{core_config(config, seal_.tag_bytes())},
          // (Blocks that are leaving find room in spare buffers, too.)
          blocks_{kResidentBlocks + (config.spare != nullptr ? 0 : Session::kLeavingBlocks),
                  kBlockBytes,
                  config.spare},
          outbox_{driver_, seal_, blocks_, config_, config.carrier.flows} {
        seal_.prepare(config.source);
        // The source hears nothing by multicast that is worth a thread.
        auto inboxes =
            config.own == config.source ? decltype(driver.take_flows()){} : driver.take_flows();
        if (!inboxes.empty()) {
            const Duration skew = config.carrier.rails > 1 ? Flows::kRailSkew : Duration{};
            flows_.emplace(read_flows(std::move(inboxes), seal_, config.source), skew);
        }
    }

    [[nodiscard]] const core::CoreConfig& core() const { return config_; }

    BroadcastReport run(core::Core& core, ObjectIo& object, Watcher& watcher) {
        const auto start = std::chrono::steady_clock::now().time_since_epoch();
        {
            DiskQueue disk{object, kDeferredBlocksMax};
            SessionLoop loop{{.core = core,
                              .driver = driver_,
                              .seal = seal_,
                              .blocks = blocks_,
                              .disk = disk,
                              .outbox = outbox_,
                              .watcher = watcher,
                              .flows = flows_ ? &*flows_ : nullptr}};
            loop.run();
        }
        BroadcastReport report;
        report.outcome = core.outcome();
        report.refused = seal_.counters();
        report.driver = driver_.counters();
        if (flows_) {
            flows_->stop();
            report.refused += flows_->refused();
            report.driver += flows_->counters();
            report.flow_packets = flows_->received();
        }
        report.transport = driver_.name();
        report.chunk_bytes = report.outcome.chunk_bytes;
        report.own_memory_bytes = own_memory_bytes();
        report.ran = std::chrono::steady_clock::now().time_since_epoch() - start;
        if (report.outcome.held_at) {
            report.held_after = report.outcome.held_at->time_since_epoch() - start;
        }
        return report;
    }

  private:
    Driver& driver_;
    seal::SessionSeal seal_;
    core::CoreConfig config_;
    BlockStore blocks_;
    Outbox outbox_;
    std::optional<Flows> flows_;
};

core::ObjectShape shape_of(const BlockSource& source) {
    return {.blocks = source.block_count(), .object_bytes = source.object_bytes()};
}

}  // namespace

BroadcastReport send_broadcast(const BroadcastConfig& config,
                               Driver& driver,
                               BlockSource& source,
                               Watcher& watcher) {
    Member member{config, driver};
    Prng prng{config.seed};
    SourceIo object{source,
                    {.is_allowed = config.may_compress,
                     .link_bytes_per_s = static_cast<double>(config.rate_max_bytes_per_s)}};
    const auto core = make_core(member.core(), shape_of(source), config.scheme, prng);
    BroadcastReport report = member.run(*core, object, watcher);
    report.shortened = object.shortened();
    return report;
}

BroadcastReport receive_broadcast(const BroadcastConfig& config,
                                  Driver& driver,
                                  BlockSink& sink,
                                  Watcher& watcher) {
    Member member{config, driver};
    Prng prng{config.seed};
    SinkIo object{sink};
    core::CoreConfig settings = member.core();
    settings.announced = sink.announced();
    const auto core = make_core(settings, {}, config.scheme, prng);
    BroadcastReport report = member.run(*core, object, watcher);
    if (report.outcome.is_unconnected) {
        report.outcome.why = driver.no_connection(
            report.outcome.culprit, core::with_default_timeouts(config).connect_timeout);
    }
    return report;
}

}  // namespace stage
