#include "stager/worker/called/called_engine.h"

#include "stager/files/manifest/manifest.h"
#include "stager/files/targets/new_target.h"
#include "stager/mpi/addresses/host_addresses.h"
#include "stager/worker/broadcast/work.h"
#include "stager/worker/called/call_channel.h"
#include "stager/worker/called/call_settings.h"
#include "stager/worker/engine/engine_member.h"
#include "stager/worker/engine/engine_place.h"
#include "transport/base/hex.h"
#include "transport/base/random_value.h"
#include "transport/fabric/rails.h"
#include "transport/os/installation.h"
#include "transport/os/names_in.h"
#include "transport/seal/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>

namespace stage {
namespace {

constexpr Duration kProgressEvery = std::chrono::milliseconds{500};

Existing existing_of(CallExisting existing) {
    return existing == CallExisting::leave   ? Existing::keep
           : existing == CallExisting::newer ? Existing::newer
                                             : Existing::overwrite;
}

/// In the names of temporary files: two calls at once that write the same file do not meet. A
/// key of its own kind, which says nothing of the group's.
std::string temporary_mark(const seal::GroupKey& key) {
    return "mpi-" + to_hex(seal::derive(key, {}, {}).iv);
}

CallEnd end_of(const core::Outcome& outcome, const CallGroup& group) {
    if (outcome.phase == core::Phase::released && !outcome.why) {
        return {.is_good = true,
                .is_held = true,
                .is_of_other = false,
                .culprit = group.own,
                .why = {}};
    }
    return {.is_good = false,
            .is_of_other = outcome.culprit != group.own && outcome.culprit.index() < group.size,
            .culprit = outcome.culprit,
            .why = outcome.why ? outcome.why->sentence()
                               : "the broadcast ended without saying why"};
}

/// One node's part of a call, from its first message to its last.
class CalledEngine final : public Watcher {
  public:
    CalledEngine(Interrupts& interrupts, CallChannel& channel)
        : interrupts_{interrupts}, channel_{channel} {}

    /// Runs to the end; the caller reports the error, which is this node's.
    [[nodiscard]] Status run();

    void on_progress(const core::Outcome& outcome) override;
    [[nodiscard]] int descriptor() const override { return interrupts_.descriptor(); }
    [[nodiscard]] Status on_readable() override { return interrupts_.check(); }

  private:
    [[nodiscard]] Status begin_source(CallSend send);
    [[nodiscard]] Status open_source(const CallSend& send);
    [[nodiscard]] Status examine_source(const std::string& path);
    [[nodiscard]] Status begin_receiver(CallReceive receive);
    [[nodiscard]] Status answer(bool is_needed);
    [[nodiscard]] Result<bool> is_left(Bytes manifest, const SinkConfig& sink) const;
    [[nodiscard]] SinkConfig sink_config(Rank node, std::uint16_t nodes) const;
    [[nodiscard]] Result<EngineGroup> group_of(const CallGroup& group);
    [[nodiscard]] Status take_part();

    Interrupts& interrupts_;
    CallChannel& channel_;
    CallOffer offer_;
    EngineOptions options_;
    std::vector<Rail> rails_;  ///< If interfaces are named.
    std::optional<Work> work_;
    std::chrono::steady_clock::time_point said_at_;
};

Status CalledEngine::run() {
    TRY(auto first, channel_.next());
    Status begun = Error{Blame::internal, "unexpected message from libstagecast-mpi"};
    if (auto* send = std::get_if<CallSend>(&first)) {
        begun = begin_source(std::move(*send));
    } else if (auto* receive = std::get_if<CallReceive>(&first)) {
        begun = begin_receiver(std::move(*receive));
    }
    return begun && work_ ? take_part() : begun;
}

Status CalledEngine::begin_source(CallSend send) {
    if (send.order.destination == send.order.source) {
        send.order.destination.clear();
    }
    const Result<Config> site = load_config(config_path());
    TRY(auto offer, settle_offer(send.order, site ? std::optional{*site} : std::nullopt));
    offer_ = std::move(offer);
    options_ = engine_options(offer_);
    if (Status examined = examine_source(send.order.source); !examined) {
        return examined;
    }
    offer_.key = random_value<decltype(offer_.key)>();
    if (Status opened = open_source(send); !opened) {
        return opened;
    }
    if (Status said = channel_.say(offer_); !said) {
        return said;
    }
    return answer(work_->sink() != nullptr);
}

Status CalledEngine::examine_source(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return Error::from_errno(Blame::user, path);
    }
    if (S_ISDIR(status.st_mode)) {
        return Error{Blame::user, path + ": is a directory, and only a file can be broadcast"};
    }
    offer_.seconds = status.st_mtim.tv_sec;
    offer_.nanoseconds = static_cast<std::uint32_t>(status.st_mtim.tv_nsec);
    offer_.bytes = static_cast<std::uint64_t>(status.st_size);
    offer_.owner = status.st_uid;
    return {};
}

/// With a sink if this node gets a copy of its own.
Status CalledEngine::open_source(const CallSend& send) {
    const std::vector<SourceOrder> orders{
        {.spec = 0, .path = send.order.source, .line = {}, .is_optional = false}};
    std::optional<SinkConfig> sink;
    if (!send.order.destination.empty()) {
        sink = sink_config(Rank{0}, send.nodes);
    }
    Result<Work> work = Work::sending(orders, 0, sink);
    if (!work) {
        return std::move(work).error();
    }
    const std::vector<std::byte> manifest = encode_manifest(*work->manifest());
    if (sink) {
        TRY(const auto left, is_left(manifest, *sink));
        if (left) {
            work = Work::sending(orders, 0, std::nullopt);
        }
    }
    if (!work) {
        return std::move(work).error();
    }
    work_ = *std::move(work);
    if (manifest.size() <= kMaxCallManifestBytes) {
        offer_.manifest = manifest;
    }
    return work_->expect(manifest);
}

Status CalledEngine::begin_receiver(CallReceive receive) {
    offer_ = std::move(receive.offer);
    options_ = engine_options(offer_);
    SinkConfig sink = sink_config(Rank{receive.node}, receive.nodes);
    if (!offer_.manifest.empty()) {
        TRY(const auto left, is_left(offer_.manifest, sink));
        if (left) {
            return channel_.say(CallReady{});
        }
    }
    work_ = Work::receiving(std::move(sink));
    if (Status expected = work_->expect(offer_.manifest); !expected) {
        return expected;
    }
    return answer(true);
}

/// Whether the file that exists at the destination stays.
Result<bool> CalledEngine::is_left(Bytes manifest, const SinkConfig& sink) const {
    const Result<Manifest> decoded = decode_manifest(manifest);
    if (!decoded || decoded->entries.size() != 1) {
        return decoded ? Error{Blame::internal, "the offer is not of one file"}
                       : decoded.error();
    }
    const ManifestEntry& entry = decoded->entries.front();
    TRY(auto order, sink.order_of(entry));
    const auto target = new_target(std::move(order.target), entry, sink.writer, 0);
    return target ? Result<bool>{(*target)->is_left()} : Result<bool>{target.error()};
}

SinkConfig CalledEngine::sink_config(Rank node, std::uint16_t nodes) const {
    SinkConfig config = engine_sink(options_, node, nodes);
    config.writer.job = temporary_mark(offer_.key);
    config.writer.secret = name_secret(offer_.key);
    config.order_of = [place = std::move(config.order_of),
                       existing = existing_of(offer_.order.existing)](
                          const ManifestEntry& entry) -> Result<SinkOrder> {
        Result<SinkOrder> order = place(entry);
        if (order) {
            order->target.existing = existing;
        }
        return order;
    };
    return config;
}

/// Tells where this host may be reached.
Status CalledEngine::answer(bool is_needed) {
    CallReady ready{.is_needed = is_needed, .addresses = {}};
    if (options_.interfaces.empty()) {
        ready.addresses = host_addresses();
    } else {
        TRY(auto rails, choose_rails(options_.interfaces, interfaces_here(AF_INET)));
        rails_ = std::move(rails);
        ready.addresses = {{.ip = rails_.front().address.ip, .prefix_bits = 0}};
    }
    return channel_.say(ready);
}

Result<EngineGroup> CalledEngine::group_of(const CallGroup& call) {
    EngineGroup group;
    group.own = call.own;
    group.size = call.size;
    group.is_source = call.own == Rank{0};
    group.key = offer_.key;
    if (group.size > 1 && rails_.empty()) {
        const Address own{.ip = call.address, .port = 0};
        TRY(auto interface, interface_of(own));
        rails_ = {Rail{.name = std::move(interface), .address = own}};
    }
    group.rails = rails_;
    group.directory = std::make_unique<GivenDirectory>(channel_, group.size);
    return group;
}

Status CalledEngine::take_part() {
    TRY(auto call, channel_.next_of<CallGroup>());
    TRY(auto group, group_of(call));
    TRY(auto member, engine_member(options_, group));
    TRY(member.meet(group.directory.get(), {.bytes = work_->bytes_expected()}, interrupts_));
    if (Status timed = interrupts_.limit(options_.timeout); !timed) {
        return timed;
    }
    const BroadcastReport report = member.run(*work_, *this);
    return channel_.say(end_of(report.outcome, call));
}

void CalledEngine::on_progress(const core::Outcome& outcome) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said_at_ < kProgressEvery && outcome.phase == core::Phase::moving) {
        return;
    }
    said_at_ = now;
    // Dropped if the process is slow.
    static_cast<void>(channel_.say(
        CallProgress{.bytes = outcome.bytes_held, .bytes_total = work_->bytes_expected()}));
}

/// Where close_range(2) is missing (before Linux 5.9).
void close_one_by_one() {
    const UniqueFd all{::open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    for (const std::string& name : names_in(all.get())) {
        int fd = -1;
        std::from_chars(name.data(), name.data() + name.size(), fd);
        if (fd > kCallFd && fd != all.get()) {
            static_cast<void>(::close(fd));
        }
    }
}

}  // namespace

void close_inherited() {
    if (::syscall(SYS_close_range, kCallFd + 1, ~0U, 0) != 0) {
        close_one_by_one();
    }
}

int run_called_engine(const Logger& log, Interrupts& interrupts) {
    CallChannel channel;
    if (Status opened = channel.open(UniqueFd{kCallFd}, interrupts); !opened) {
        log.error("no socket of libstagecast-mpi", {{"why", opened.error().sentence()}});
        return 1;
    }
    CalledEngine engine{interrupts, channel};
    if (Status done = engine.run(); !done) {
        // The process may have ended: then there is no one to report it to.
        static_cast<void>(channel.say(CallEnd{.is_good = false,
                                              .is_held = false,
                                              .is_of_other = false,
                                              .culprit = Rank{0},
                                              .why = done.error().sentence()}));
        return 1;
    }
    return 0;
}

}  // namespace stage
