#include "transport/run/memory/memory_broadcast.h"

#include "transport/base/prng.h"
#include "transport/run/core_settings.h"
#include "transport/run/make_core.h"
#include "transport/run/memory/memory_disk.h"
#include "transport/run/stamp_clock.h"

#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <bit>

namespace stage {
namespace {

constexpr Duration kTurnEvery = std::chrono::milliseconds{1};
constexpr Duration kHoldingTurnEvery = std::chrono::microseconds{100};

/// Pacing rests on short sleeps. The thread is the caller's, and gets its own slack back.
class ShortSlack {
  public:
    ShortSlack() : before_{::prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL)} {
        static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL));
    }
    ShortSlack(const ShortSlack&) = delete;
    ShortSlack& operator=(const ShortSlack&) = delete;
    ~ShortSlack() {
        const auto before = static_cast<unsigned long>(std::max(before_, 0));
        static_cast<void>(::prctl(PR_SET_TIMERSLACK, before, 0UL, 0UL, 0UL));
    }

  private:
    int before_;
};

/// The caller has made sure of it.
class AllListen final : public Watcher {
  public:
    void on_progress(const core::Outcome& /*outcome*/) override {}
    [[nodiscard]] bool do_all_listen() const override { return true; }
};

std::uint32_t blocks_of(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + kBlockBytes - 1) / kBlockBytes);
}

class MemoryMember {
  public:
    MemoryMember(const BroadcastConfig& config, Driver& driver, MutableBytes bytes)
        : driver_{driver},
          seal_{keys_of(config)},
          config_{core_config(config, seal_.tag_bytes())},
          blocks_{bytes, kResidentBlocks + Session::kLeavingBlocks},
          disk_{blocks_of(bytes.size()), config.own == config.source},
          outbox_{driver_, seal_, blocks_, config_, config.carrier.flows} {
        seal_.prepare(config.source);
    }

    [[nodiscard]] const core::CoreConfig& core() const { return config_; }

    core::Outcome run(core::Core& core, MemoryWatcher& watcher) {
        const ShortSlack slack;
        AllListen all_listen;
        Session session{{.core = core,
                         .driver = driver_,
                         .seal = seal_,
                         .blocks = blocks_,
                         .disk = disk_,
                         .outbox = outbox_,
                         .watcher = all_listen}};
        Instant now = read_clock();
        session.hear_watcher(now);
        Waits waits = session.turn(now, Readable{});
        while (!session.is_over() && !watcher.may_leave(core.outcome())) {
            const bool is_holding = core.outcome().phase != core::Phase::moving &&
                                    core.outcome().phase != core::Phase::wiring;
            const Readable found =
                wait(now, waits, is_holding ? kHoldingTurnEvery : kTurnEvery);
            now = read_clock();
            waits = session.turn(now, found);
        }
        return core.outcome();
    }

  private:
    [[nodiscard]] Readable wait(Instant now, const Waits& waits, Duration longest);

    Driver& driver_;
    seal::SessionSeal seal_;
    core::CoreConfig config_;
    BlockStore blocks_;
    MemoryDisk disk_;
    Outbox outbox_;
    std::vector<pollfd> listed_;
};

Readable MemoryMember::wait(Instant now, const Waits& waits, Duration longest) {
    const int stream = driver_.stream_descriptor();
    listed_.clear();
    for (const int socket : driver_.descriptors()) {
        const bool is_left = socket == stream && waits.stream != StreamWait::wakes;
        listed_.push_back({.fd = is_left ? -1 : socket, .events = POLLIN, .revents = 0});
    }
    const std::size_t sockets = listed_.size();
    for (std::uint32_t left = waits.outlets; left != 0; left &= left - 1) {
        listed_.push_back(
            {.fd = driver_.outlet_descriptor(static_cast<std::size_t>(std::countr_zero(left))),
             .events = driver_.outlet_events(),
             .revents = 0});
    }
    const Readable awaited{.peers = true, .stream = waits.stream == StreamWait::wakes};
    const bool has_more = !driver_.prepare_wait(awaited);
    const Duration left = disk_.is_idle() && !has_more
                              ? std::clamp(waits.until - now, Duration::zero(), longest)
                              : Duration::zero();
    const timespec timeout{.tv_sec = 0, .tv_nsec = left.count()};
    if (::ppoll(listed_.data(), listed_.size(), &timeout, nullptr) < 0) {
        return {};
    }
    Readable found{.peers = has_more, .stream = has_more && awaited.stream};
    for (const pollfd& one : std::span{listed_}.first(sockets)) {
        (one.fd == stream ? found.stream : found.peers) |= one.revents != 0;
    }
    return found;
}

}  // namespace

core::Outcome broadcast_memory(const BroadcastConfig& config,
                               Driver& driver,
                               MutableBytes bytes,
                               MemoryWatcher& watcher) {
    MemoryMember member{config, driver, bytes};
    Prng prng{config.seed};
    const core::ObjectShape shape{.blocks = blocks_of(bytes.size()),
                                  .object_bytes = bytes.size()};
    const auto core = make_core(member.core(), shape, config.scheme, prng);
    return member.run(*core, watcher);
}

}  // namespace stage
