#include "transport/run/broadcast.h"

#include "transport/base/invariant.h"
#include "transport/base/prng.h"
#include "transport/core/receiver/receiver.h"
#include "transport/core/relay/relay_receiver.h"
#include "transport/core/relay/relay_source.h"
#include "transport/core/source/sender.h"
#include "transport/run/any_core.h"
#include "transport/run/loop.h"
#include "transport/run/object/disk_queue.h"
#include "transport/run/object/object_io.h"
#include "transport/run/object/own_memory.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace stage {
namespace {

constexpr std::uint32_t kEthernetMtu = 1500;  ///< What every path is expected to carry.
constexpr std::uint32_t kIpv4AndUdpBytes = 28;
constexpr std::uint32_t kIpv6AndUdpBytes = 48;
/// Of 1 MiB each: what a member holds of blocks under way, deferred or serving repairs. With
/// full sockets (30 MiB as granted for 12 asked) it stays below 64; and the first pass, which
/// goes 18 blocks ahead of the median member, rather fits into a slower one's socket.
constexpr std::uint32_t kResidentBlocks = 24;
constexpr std::size_t kDeferredBlocksMax = 16;
/// By how much the queues on two rails may differ: a switch's or a shaper's buffer.
constexpr Duration kRailSkew = std::chrono::milliseconds{30};

std::uint32_t chunk_bytes(const BroadcastConfig& config,
                          std::uint32_t mtu,
                          std::size_t tag_bytes) {
    const std::uint32_t below = config.group.is_v6() ? kIpv6AndUdpBytes : kIpv4AndUdpBytes;
    const auto around = below + static_cast<std::uint32_t>(wire::kHeaderBytes + tag_bytes);
    invariant(mtu >= wire::kMinChunkBytes + around, "an MTU leaves room for a chunk");
    return std::min(mtu - around, wire::kMaxDatagramChunkBytes);
}

seal::SessionKeys keys_of(const BroadcastConfig& config) {
    seal::SessionKeys keys;
    keys.protection = config.protection;
    keys.group = config.group_key;
    keys.session = config.session;
    keys.own = config.own;
    keys.version = config.version;
    for (const BroadcastMember& member : config.members) {
        keys.members.push_back(member.incarnation);
    }
    return keys;
}

core::CoreConfig core_config(const BroadcastConfig& config, std::size_t tag_bytes) {
    core::CoreConfig core;
    core.own = config.own;
    core.members = static_cast<std::uint16_t>(config.members.size());
    core.source = config.source;
    core.session = seal::demux(config.session);
    const bool relays = config.relay_degree > 0;
    core.chunk_bytes = relays ? kRelayChunkBytes : chunk_bytes(config, config.mtu, tag_bytes);
    if (!relays && config.mtu > kEthernetMtu) {
        core.chunk_bytes_fallback = chunk_bytes(config, kEthernetMtu, tag_bytes);
    }
    core.rate_max_bytes_per_s = config.rate_bits_per_s / 8;
    core.rate_bytes_per_s = config.is_rate_configured ? config.rate_bits_per_s / 8 : 0;
    core.rate_remembered_bytes_per_s = config.rate_remembered_bits_per_s / 8;
    core.rate_policy = config.rate_policy;
    core.peer_policy = config.peer_policy;
    core.readiness_policy = config.readiness_policy;
    core.leave_policy = config.leave_policy;
    core.fault_policy = config.fault_policy;
    core.unreached_policy = config.unreached_policy;
    core.relay_degree = config.relay_degree_instead;
    core.holds_already = config.holds_already;
    core.held_before = config.held_before;
    core.bytes_held_before = config.bytes_held_before;
    core.resident_blocks = kResidentBlocks;
    core.spill_blocks = config.spare != nullptr ? kSpillBlocks : 0;
    core.group_buffer_bytes = config.group_buffer_bytes;
    core.ready_timeout = config.ready_timeout;
    core.stall_timeout = config.stall_timeout;
    core.finish_extra = config.finish_extra;
    core.linger = config.linger;
    return core;
}

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
          outbox_{driver_, seal_, blocks_, config_, config.flows} {
        seal_.prepare(config.source);
        // The source hears nothing by multicast that is worth a thread.
        auto inboxes =
            config.own == config.source ? decltype(driver.take_flows()){} : driver.take_flows();
        if (!inboxes.empty()) {
            const Duration skew = config.rails > 1 ? kRailSkew : Duration{};
            flows_.emplace(std::move(inboxes), seal_, config.source, skew);
        }
    }

    [[nodiscard]] const core::CoreConfig& core() const { return config_; }

    BroadcastReport run(AnyCore& core, ObjectIo& object, Watcher& watcher) {
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
    core::ObjectShape shape;
    shape.blocks = source.block_count();
    for (std::uint32_t block = 0; block < shape.blocks; ++block) {
        shape.object_bytes += source.block_length(BlockIndex{block});
    }
    return shape;
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
                     .link_bytes_per_s = static_cast<double>(config.rate_bits_per_s) / 8}};
    const core::ObjectShape shape = shape_of(source);
    const auto run = [&](AnyCore&& core) {
        BroadcastReport report = member.run(core, object, watcher);
        report.shortened = object.shortened();
        return report;
    };
    return config.relay_degree > 0
               ? run(HeldCore<core::RelaySource>{member.core(), shape, config.relay_degree})
               : run(HeldCore<core::Sender>{member.core(), shape, prng});
}

BroadcastReport receive_broadcast(const BroadcastConfig& config,
                                  Driver& driver,
                                  BlockSink& sink,
                                  Watcher& watcher) {
    Member member{config, driver};
    Prng prng{config.seed};
    SinkIo object{sink};
    if (config.relay_degree > 0) {
        HeldCore<core::RelayReceiver> core{member.core(), config.relay_degree};
        return member.run(core, object, watcher);
    }
    HeldCore<core::Receiver> core{member.core(), prng};
    return member.run(core, object, watcher);
}

}  // namespace stage
