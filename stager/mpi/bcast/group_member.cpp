#include "stager/mpi/bcast/group_member.h"

#include "stager/config/engine_ports.h"
#include "stager/mpi/addresses/common_network.h"
#include "stager/mpi/addresses/host_addresses.h"
#include "stager/mpi/messages/ip_field.h"
#include "transport/base/fields.h"
#include "transport/base/random_value.h"
#include "transport/fabric/rails.h"
#include "transport/os/installation.h"
#include "transport/udp/udp_fabric.h"
#include "transport/verbs/rdma_core.h"
#include "transport/verbs/verbs_fabric.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

namespace stage {
namespace {

constexpr std::size_t kMaxWords = 128;
constexpr std::size_t kMaxReleaseBytes = 64;
constexpr std::uint32_t kSocketBuffer = 12U << 20U;
/// A few calls more than a window of short messages.
constexpr std::uint32_t kShortBuffer = 1U << 20U;
constexpr Duration kReadyTimeout = std::chrono::seconds{5};
constexpr Duration kStallTimeout = std::chrono::seconds{10};
/// The groups of the engine without daemons (MulticastGroups=, engine_ports.h).
constexpr std::uint32_t kFirstGroup = 0xefc04400;  ///< 239.192.68.0
constexpr std::uint32_t kGroupCount = 16;

const verbs::VerbsFabric& rdma_fabric() {
    static const verbs::VerbsFabric fabric{verbs::open_device_port};
    return fabric;
}

void fields(auto& on, Like<MemberCard> auto& card) {
    on.text(card.release, kMaxReleaseBytes)
        .with(card.host, put_ip, take_ip)
        .blob(card.place, kMaxPlaceBytes)
        .blob(card.rdma, kMaxPlaceBytes)
        .raw(card.incarnation)
        .raw(card.key)
        .raw(card.session)
        .number(card.draw)
        .cut(card.why, kMaxWords);
}

std::optional<MemberCard> card_in(Bytes record) {
    ByteReader in{record};
    FieldReader on{in};
    MemberCard card;
    fields(on, card);
    return in.finished() ? std::optional{std::move(card)} : std::nullopt;
}

/// The first interface of STAGECAST_INTERFACE that this host has.
std::vector<CallAddress> named_address(std::string_view names) {
    const std::vector<InterfaceHere> here = interfaces_here(AF_INET);
    while (!names.empty()) {
        const std::size_t end = std::min(names.find(','), names.size());
        const std::string_view entry = names.substr(0, end);
        const std::string name =
            interface_called(std::string{entry.substr(0, entry.find('+'))});
        const auto found = std::ranges::find(here, name, &InterfaceHere::name);
        if (found != here.end()) {
            return {CallAddress{.ip = found->address.ip, .prefix_bits = 0}};
        }
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return {};
}

/// A group of each of many communicators would take all that the program and the MPI need. The
/// kernel gives out the lowest number that is free.
bool is_among_lower_half(const UniqueFd& descriptor) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
           static_cast<rlim_t>(descriptor.get()) < limit.rlim_cur / 2;
}

Address group_address(std::uint32_t draw) {
    constexpr std::uint32_t kPorts = 1U + kEnginePortLast - kEnginePortFirst;
    return {
        .ip = ip_v4(kFirstGroup + draw % kGroupCount),
        .port = static_cast<std::uint16_t>(kEnginePortFirst + (draw / kGroupCount) % kPorts)};
}

}  // namespace

std::vector<std::byte> GroupMember::addresses() const {
    const char* named =
        ::secure_getenv("STAGECAST_INTERFACE");  // NOLINT(concurrency-mt-unsafe)
    CallReady here;
    here.addresses =
        named != nullptr && *named != '\0' ? named_address(named) : host_addresses();
    std::erase_if(here.addresses,
                  [](const CallAddress& one) { return one.ip.family != IpFamily::v4; });
    return encode_call(here);
}

std::vector<std::byte> GroupMember::meet(const std::vector<Bytes>& records,
                                         Rank own,
                                         bool is_short) {
    config_.own = own;
    config_.members.resize(records.size());
    Result<MemberCard> card = open(records, is_short);
    if (!card) {
        error_ = card.error().sentence();
        card = MemberCard{};
        card->why = error_;
    }
    ByteWriter out;
    FieldWriter on{out};
    const MemberCard& written = *card;
    fields(on, written);
    return out.take();
}

Result<MemberCard> GroupMember::open(const std::vector<Bytes>& records, bool is_short) {
    std::vector<std::vector<CallAddress>> hosts;
    for (const Bytes record : records) {
        Result<CallMessage> message = decode_call(record);
        const auto* ready = message ? std::get_if<CallReady>(&*message) : nullptr;
        hosts.push_back(ready == nullptr ? std::vector<CallAddress>{} : ready->addresses);
    }
    const auto places = common_network(hosts);
    if (!places) {
        return Error{Blame::user, "the nodes have no network in common"}.remedy(
            "name an interface of it in STAGECAST_INTERFACE");
    }
    own_ = {.ip = (*places)[config_.own.index()], .port = 0};
    TRY(auto interface, interface_of(own_));
    interface_ = std::move(interface);
    auto rdma = is_short ? open_rdma() : std::vector<std::byte>{};
    const udp::UdpFabric fabric;
    TRY(auto endpoint,
        fabric.open({.rails = {{.name = interface_, .address = own_}},
                     .ports = {.lent = {}, .open_to_all = {{0, 0}}},
                     .dscp = 0,
                     .buffer_bytes = kSocketBuffer}));
    if (!is_among_lower_half(endpoint.descriptors.front())) {
        return Error{Blame::user, "half of this process's file descriptors are in use"}.remedy(
            "raise the limit of open files (ulimit -n)");
    }
    TRY(auto place, fabric.place(endpoint));
    endpoint_ = std::move(endpoint);
    return MemberCard{.release = std::string{version()}.substr(0, kMaxReleaseBytes),
                      .host = place.host,
                      .place = std::move(place.bytes),
                      .rdma = rdma ? *std::move(rdma) : std::vector<std::byte>{},
                      .incarnation = random_value<seal::Incarnation>(),
                      .key = random_value<seal::GroupKey>(),
                      .session = random_value<seal::SessionId>(),
                      .draw = random_value<std::uint32_t>(),
                      .why = {}};
}

Status GroupMember::join(const std::vector<Bytes>& records) {
    std::vector<std::vector<std::byte>> places;
    hosts_.clear();
    rdma_places_.clear();
    for (std::size_t i = 0; i < records.size(); ++i) {
        const std::optional<MemberCard> card = card_in(records[i]);
        if (!card || !card->why.empty()) {
            return Error{Blame::node, card ? card->why : "a record that makes no sense"};
        }
        if (card->release != std::string{version()}.substr(0, kMaxReleaseBytes)) {
            return Error{Blame::user, "the nodes have different releases of the library"};
        }
        config_.members[i] = card->incarnation;
        hosts_.push_back(card->host);
        places.push_back(card->place);
        rdma_places_.push_back(card->rdma);
        if (i == 0) {
            config_.group_key = card->key;
            config_.session = card->session;
            group_ = group_address(card->draw);
            for_short_ = group_address(card->draw + kGroupCount);
        }
    }
    // Any user of a host may join a group, and would read what is not encrypted.
    config_.protection = Protection::encrypt;
    config_.unreached_policy = UnreachedPolicy::fail;
    config_.ready_timeout = kReadyTimeout;
    config_.stall_timeout = kStallTimeout;
    config_.linger = kStallTimeout;
    return open_driver(std::move(places));
}

/// The next port of the same group address, and keys that no session of long messages has.
Status GroupMember::open_short() {
    ShortConfig config{.key = config_.group_key,
                       .session = config_.session,
                       .members = {},
                       .rank = config_.own};
    config.session.back() ^= std::byte{0xff};
    config.members = config_.members;
    TRY(auto datagrams, short_datagrams());
    short_.emplace(std::move(config), std::move(datagrams));
    return {};
}

Result<std::vector<std::byte>> GroupMember::open_rdma() {
    TRY(auto endpoint,
        rdma_fabric().open({.rails = {{.name = interface_, .address = own_}},
                            .ports = {},
                            .dscp = 0,
                            .buffer_bytes = kShortBuffer}));
    TRY(auto place, rdma_fabric().place(endpoint));
    if (!is_among_lower_half(UniqueFd{::dup(STDERR_FILENO)})) {
        return Error{Blame::user, "half of this process's file descriptors are in use"};
    }
    rdma_ = std::move(endpoint);
    return std::move(place.bytes);
}

/// All members decide alike, by the same places.
Result<std::unique_ptr<ShortDatagrams>> GroupMember::short_datagrams() {
    if (rdma_fabric().objection(rdma_places_)) {
        rdma_ = {};
        return short_by_udp(for_short_, own_, interface_);
    }
    // (Nothing goes to a single member, so that none has to be resolved.)
    TRY(auto joined,
        rdma_fabric().join(std::move(rdma_),
                           {.own = config_.own,
                            .source = config_.own,
                            .places = {},
                            .group = [this](std::size_t /*rails*/) { return for_short_; },
                            .data_ports = {}}));
    return short_by_driver(std::move(joined.driver));
}

Status GroupMember::open_driver(std::vector<std::vector<std::byte>> places) {
    TRY(auto joined,
        udp::UdpFabric{}.join(std::move(endpoint_),
                              {.own = config_.own,
                               .source = config_.source,
                               .places = std::move(places),
                               .group = [this](std::size_t /*rails*/) { return group_; },
                               .data_ports = {}}));
    driver_ = std::move(joined.driver);
    config_.carrier = joined.carrier;
    return {};
}

/// Each session has its own keys and its own mark in the headers, so that what is left in the
/// sockets of an earlier one is dropped.
core::Outcome GroupMember::broadcast(Rank source, MutableBytes bytes, MemoryWatcher& watcher) {
    ++sessions_;  // First of all: the others count it even if memory is exhausted here.
    BroadcastConfig config = config_;
    for (std::size_t i = 0; i < sizeof sessions_; ++i) {
        config.session[i] ^= static_cast<std::byte>(sessions_ >> (8 * i));
    }
    config.source = source;
    config.rate_remembered_bytes_per_s = rate_ / 8;
    config.seed = random_value<std::uint64_t>();
    const core::Outcome outcome = broadcast_memory(config, *driver_, bytes, watcher);
    if (outcome.rate_found_bytes_per_s > 0) {
        rate_ = outcome.rate_found_bytes_per_s * 8;
    }
    error_ = outcome.why ? why_of(outcome) : "";
    return outcome;
}

void GroupMember::skip() {
    ++sessions_;
    error_ = "the message did not arrive within the node";
}

/// Members know each other by their addresses.
std::string GroupMember::why_of(const core::Outcome& outcome) const {
    const std::string& why = outcome.why->sentence();
    return outcome.culprit.index() < hosts_.size()
               ? "node at " + to_string(hosts_[outcome.culprit.index()]) + ": " + why
               : why;
}

}  // namespace stage
