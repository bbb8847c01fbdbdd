#include "stager/worker/engine/engine.h"

#include "stager/config/config.h"
#include "stager/config/engine_ports.h"
#include "stager/control/message.h"
#include "stager/worker/broadcast/statistics.h"
#include "stager/worker/broadcast/wiring.h"
#include "stager/worker/engine/engine_group.h"
#include "stager/worker/engine/engine_place.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/udp/sockets.h"

#include <unistd.h>

#include <cstdio>
#include <span>

namespace stage {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr std::chrono::seconds kReadyTimeout{5};
constexpr std::chrono::seconds kLinger{60};
/// With both buffers granted in full and 24 resident blocks a member uses less than 64 MB.
constexpr std::uint32_t kSocketBuffer = 12U << 20U;

/// Ends the session when the engine is interrupted.
class EngineWatcher final : public Watcher {
  public:
    explicit EngineWatcher(Interrupts& interrupts) : interrupts_{interrupts} {}

    void on_progress(const core::Outcome& /*outcome*/) override {}
    [[nodiscard]] int descriptor() const override { return interrupts_.descriptor(); }
    [[nodiscard]] Status on_readable() override { return interrupts_.check(); }

  private:
    Interrupts& interrupts_;
};

/// A member that cannot begin takes part all the same, to tell the others why.
Work work_of(const EngineOptions& options, const EngineGroup& group) {
    const bool is_source = group.own == options.root;
    if (!is_source && options.destination.empty()) {
        return Work::refusing(Error{Blame::user, "this member was started without --dest="},
                              false);
    }
    if (!is_source) {
        return Work::receiving(engine_sink(options, group.own, group.size));
    }
    std::optional<SinkConfig> sink;
    if (!options.destination.empty()) {
        sink = engine_sink(options, group.own, group.size);
    }
    Result<Work> work =
        Work::sending({{.spec = 0, .path = options.source, .line = {}, .is_optional = false}},
                      0,
                      std::move(sink));
    return work ? *std::move(work) : Work::refusing(std::move(work).error(), true);
}

/// The group's first address and its port, which all members draw alike from the default groups
/// and the ports that daemons do not use.
Result<Address> group_address(std::uint64_t draw, std::size_t rails) {
    const Config site = default_config();
    const GroupAddress number = site.group_at(draw % site.group_count(rails), rails);
    // The port is drawn for the maximum number of flows, so that every member finds the first
    // flow at the same port.
    constexpr std::uint32_t kPorts = 2U + kEnginePortLast - kEnginePortFirst - kPolicyFlowsMax;
    const auto port = static_cast<std::uint16_t>(kEnginePortFirst + (draw >> 32U) % kPorts);
    ByteWriter octets;
    octets.u32(number);
    const std::optional<IpAddress> address = ip_from_bytes(octets.view());
    invariant(address.has_value(), "four bytes are an address");
    return Address{.ip = *address, .port = port};
}

std::pair<std::uint16_t, std::uint16_t> ports_range() {
    return {kEnginePortFirst, kEnginePortLast};
}

std::vector<std::string> names_of(const std::vector<udp::Rail>& rails) {
    std::vector<std::string> names;
    names.reserve(rails.size());
    for (const udp::Rail& rail : rails) {
        names.push_back(rail.name);
    }
    return names;
}

/// Opens the sockets of the multicast group, to receive and, at the source, to send; not the
/// peer socket.
Result<BroadcastSockets> open_group(const BroadcastConfig& config,
                                    std::span<const udp::Rail> rails,
                                    const udp::SocketOptions& options) {
    const udp::GroupFlows group{
        .first = config.group, .flows = config.flows, .rails = config.rails};
    BroadcastSockets sockets;
    Result<std::vector<UniqueFd>> flows = udp::open_flow_sockets(group, rails, options);
    if (!flows) {
        return std::move(flows).error();
    }
    sockets.flows = *std::move(flows);
    if (config.own == config.source) {
        Result<std::vector<UniqueFd>> senders =
            udp::open_rail_sockets(rails, ports_range(), options);
        if (!senders) {
            return std::move(senders).error();
        }
        sockets.rails = *std::move(senders);
    }
    sockets.interfaces = names_of({rails.begin(), rails.end()});
    sockets.group_rails = rails.size();
    return sockets;
}

/// The state between the wire-up and the first packet.
struct Ready {
    BroadcastConfig config;
    BroadcastSockets sockets;
    CardTable cards;
    std::uint32_t receive_buffer = 0;
};

/// Applies the options that do not depend on the members.
void apply(const EngineOptions& options, BroadcastConfig& config) {
    config.protection = options.protection;
    config.rate_bits_per_s =
        options.configured_rate != 0 ? options.configured_rate : options.rate_max;
    config.is_rate_configured = options.configured_rate != 0;
    config.may_compress = options.may_compress;
    config.rate_remembered_bits_per_s = options.rate_remembered;
    follow(options.policies, config);
    config.ready_timeout = kReadyTimeout;
    config.stall_timeout = options.stall_timeout;
    config.linger = kLinger;
}

Result<Ready> connect(const EngineOptions& options,
                      EngineGroup& group,
                      std::uint64_t bytes,
                      Interrupts& interrupts) {
    Ready ready;
    if (!group.must_wire_up) {
        ready.config.members.resize(1);
        return ready;
    }
    const udp::SocketOptions sockets{.interface = group.rails.front().name,
                                     .ttl = options.ttl,
                                     .dscp = options.dscp,
                                     .buffer_bytes = kSocketBuffer,
                                     .force_buffer = ::geteuid() == 0};
    const Address own{.ip = group.address, .port = 0};
    const bool relays = options.transport == Transport::tcp;
    UniqueFd listener;
    if (options.transport != Transport::udp) {
        Result<UniqueFd> opened =
            tcp::open_listener(own, ports_range(), {.dscp = options.dscp});
        if (!opened) {
            return std::move(opened).error();
        }
        listener = *std::move(opened);
    }
    Result<UniqueFd> peer =
        relays ? std::move(listener) : udp::open_peer_socket(own, ports_range(), sockets);
    if (!peer) {
        return std::move(peer).error();
    }
    Result<Card> card = make_card(group.own, "", peer->get(), names_of(group.rails));
    if (!card) {
        return std::move(card).error();
    }
    card->relay_degree = relays ? relay_degree_for(bytes, group.size) : 0;
    if (Status offered = offer_relay(listener, *card); !offered) {
        return std::move(offered).error();
    }
    if (Status put = put_key(group, *card); !put) {
        return std::move(put).error();
    }
    Result<Wired> wired = wire_up(*group.directory, *card, options.connect_timeout, interrupts);
    if (!wired) {
        return std::move(wired).error();
    }
    if (group.size == 1) {
        ready.config.members.resize(1);
        return ready;
    }
    if (Status taken = take_key(wired->cards, group); !taken) {
        return std::move(taken).error();
    }
    Result<BroadcastConfig> config = broadcast_among(wired->cards, group.own, options.root);
    if (!config) {
        return std::move(config).error();
    }
    const Result<Address> address = group_address(wired->agreement.draw, config->rails);
    if (!address) {
        return address.error();
    }
    ready.config = *std::move(config);
    ready.config.group = *address;
    ready.config.group_key = group.key;
    ready.config.session = wired->agreement.session;
    ready.config.version = wired->agreement.version;
    apply(options, ready.config);
    if (relays) {
        ready.sockets.listener = *std::move(peer);
        ready.cards = std::move(wired->cards);
        return ready;
    }
    follow(choose_transport(facts_of(wired->cards, options.transport)), bytes, ready.config);
    Result<BroadcastSockets> opened =
        open_group(ready.config, std::span{group.rails}.first(ready.config.rails), sockets);
    if (!opened) {
        return std::move(opened).error();
    }
    ready.sockets = *std::move(opened);
    ready.sockets.peer = *std::move(peer);
    ready.sockets.listener = std::move(listener);
    ready.receive_buffer = receive_buffer_bytes(ready.sockets);
    ready.cards = std::move(wired->cards);
    return ready;
}

int fail(const std::string& sentence) {
    // File names may contain any bytes.
    static_cast<void>(
        std::fprintf(stderr, "stagecast-worker: %s\n", printable(sentence).c_str()));
    return kFailed;
}

/// Formats "rank 3 (10.77.1.4): /nowhere/x: No such file or directory; ..."
std::string failure_text(const core::Outcome& outcome,
                         const EngineOptions& options,
                         const Ready& ready,
                         Rank own) {
    TransportFacts facts = facts_of(ready.cards, options.transport);
    facts.unreached = names_of(outcome.unreached, ready.cards);
    if (const auto choice = choose_transport(facts); choice.failure) {
        return choice.failure->sentence();
    }
    const std::string why =
        outcome.why ? outcome.why->sentence() : "the broadcast ended without saying why";
    const bool is_ours =
        outcome.culprit == own || outcome.culprit.index() >= ready.cards.size();
    return is_ours ? why : describe(ready.cards[outcome.culprit.index()]) + ": " + why;
}

}  // namespace

int run_engine(const Logger& log,
               const EngineOptions& options,
               Interrupts& interrupts,
               const DriverWrap& wrap) {
    if (Status timed = interrupts.limit(options.timeout); !timed) {
        return fail(timed.error().sentence());
    }
    Result<EngineGroup> group = find_group(options, interrupts);
    if (!group) {
        return fail(group.error().sentence());
    }
    Work work = work_of(options, *group);
    Result<Ready> ready = connect(options, *group, work.bytes_expected(), interrupts);
    if (!ready) {
        // This member's own failure says more than the failure to report it to the others.
        return fail(work.refusal() ? work.refusal()->sentence() : ready.error().sentence());
    }
    log.debug("wired up", {{"members", group->size}, {"rails", group->rails.size()}});
    EngineWatcher watcher{interrupts};
    const BroadcastReport report =
        work.run(ready->config, std::move(ready->sockets), watcher, wrap);
    const Measured measured{.rank = group->own,
                            .members = group->size,
                            .rails = ready->config.rails,
                            .receive_buffer = ready->receive_buffer,
                            .buffer_asked = kSocketBuffer,
                            .unreached = names_of(report.outcome.unreached, ready->cards)};
    static_cast<void>(std::printf("%s\n", statistics_line(measured, work, report).c_str()));
    if (std::fflush(stdout) != 0) {
        return fail("cannot write to stdout");
    }
    const core::Outcome& outcome = report.outcome;
    if (outcome.phase == core::Phase::released && !outcome.why) {
        return kDone;
    }
    return fail(failure_text(outcome, options, *ready, group->own));
}

}  // namespace stage
