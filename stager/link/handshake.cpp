#include "stager/link/handshake.h"

#include "stager/link/cluster_name.h"
#include "stager/link/key_exchange.h"

#include <openssl/crypto.h>

#include <algorithm>

namespace stage {
namespace {

enum class MessageType : std::uint8_t { greeting = 1, credential = 2, refusal = 3 };

constexpr std::uint32_t kGreetingMagic = 0x53434c31U;  // "SCL1"
constexpr std::uint32_t kPayloadMagic = 0x53434331U;   // "SCC1"

template <class Array>
void read_array(ByteReader& reader, Array& array) {
    const Bytes bytes = reader.raw(array.size());
    std::copy(bytes.begin(), bytes.end(), array.begin());
}

bool is_name(const std::string& name) {
    return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

void write_versions(ByteWriter& out, const VersionRange& versions) {
    out.u16(versions.lowest).u16(versions.highest);
}

VersionRange read_versions(ByteReader& reader) {
    VersionRange versions;
    versions.lowest = reader.u16();
    versions.highest = reader.u16();
    return versions;
}

std::string text_of(const VersionRange& versions) {
    const std::string lowest = std::to_string(versions.lowest);
    return versions.lowest == versions.highest
               ? lowest
               : lowest + " to " + std::to_string(versions.highest);
}

/// "node NAME", or `otherwise` if the name is not known.
std::string node_or(const std::string& name, std::string_view otherwise) {
    return name.empty() ? std::string{otherwise} : "node " + name;
}

/// Names both nodes: its reader, a job's owner for instance, may be on neither.
std::string versions_sentence(const std::string& peer,
                              const VersionRange& theirs,
                              const std::string& own,
                              const VersionRange& ours) {
    return "stagecastd of " + node_or(peer, "the peer") + " uses version " + text_of(theirs) +
           " of the daemons' protocol, that of " + node_or(own, "this node") + " version " +
           text_of(ours) + "; install the same release of stagecast on both";
}

}  // namespace

VersionRange own_versions() {
    static const bool exchanges = can_exchange();
    return {.lowest = kLinkVersionMin,
            .highest = exchanges ? kLinkVersionMax
                                 : static_cast<std::uint16_t>(kLinkVersionExchange - 1)};
}

std::vector<std::byte> with_length(Bytes message) {
    ByteWriter out;
    out.blob(message);
    return out.take();
}

std::vector<std::byte> encode_refusal(const Refusal& refusal) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(MessageType::refusal));
    out.u8(static_cast<std::uint8_t>(refusal.code));
    write_versions(out, refusal.versions);
    out.u64(static_cast<std::uint64_t>(refusal.encoded_at));
    out.u64(static_cast<std::uint64_t>(refusal.decoded_at));
    out.text(refusal.name);
    return with_length(out.view());
}

std::string clock_sentence(const std::string& maker,
                           const std::string& reader,
                           std::int64_t encoded_at,
                           std::int64_t decoded_at) {
    // The peer may send any numbers: their difference may overflow.
    std::int64_t apart = 0;
    if (__builtin_sub_overflow(decoded_at, encoded_at, &apart)) {
        apart = 0;
    }
    const bool maker_behind = apart > 0;
    const auto seconds = apart < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(apart)
                                   : static_cast<std::uint64_t>(apart);
    return "the clocks of nodes " + maker + " and " + reader + " are " +
           std::to_string(seconds) + " s apart (" + maker +
           (maker_behind ? " is behind" : " is ahead") +
           "), so the login is refused; set both clocks (chronyc makestep)";
}

Handshake::Handshake(Start start) : start_{std::move(start)} {
    invariant(start_.role == LinkRole::acceptor || !start_.peer_name.empty(),
              "a connector knows the name of its peer");
}

Handshake::~Handshake() {
    for (LinkSecret* secret : {&start_.private_key, &own_secret_, &peer_secret_, &common_}) {
        OPENSSL_cleanse(secret->data(), secret->size());
    }
}

Handshake::Step Handshake::begin() {
    Step step;
    if (start_.role == LinkRole::connector) {
        step.send = greeting();
    }
    return step;
}

bool Handshake::expects_message() const {
    return await_ == Await::greeting || await_ == Await::credential;
}

Result<Handshake::Step> Handshake::on_message(Bytes message) {
    invariant(expects_message(), "a message is read only when one is due");
    ByteReader reader{message};
    const auto type = static_cast<MessageType>(reader.u8());
    if (type == MessageType::refusal && start_.role == LinkRole::connector) {
        return on_refusal(reader);
    }
    const auto due =
        await_ == Await::greeting ? MessageType::greeting : MessageType::credential;
    if (!reader.ok() || type != due) {
        return Error{Blame::node, "the program that answers is not stagecastd"};
    }
    // Both sides hash the same bytes: lengths included, in the order of sending.
    static_cast<void>(remember(with_length(message)));
    return due == MessageType::greeting ? on_greeting(reader) : on_credential(reader);
}

Result<Handshake::Step> Handshake::on_greeting(ByteReader& reader) {
    const bool magic = reader.u32() == kGreetingMagic;
    peer_versions_ = read_versions(reader);
    read_array(reader, peer_nonce_);
    const std::string from = reader.text(kNodeNameMax);
    const std::string to = reader.text(kNodeNameMax);
    // Later versions may append fields; the credentials authenticate every byte.
    if (!reader.ok() || !magic || !is_name(from) || !is_name(to)) {
        return Error{Blame::node, "the program that answers is not stagecastd"};
    }
    version_ = std::min(peer_versions_.highest, start_.versions.highest);
    if (version_ < peer_versions_.lowest || version_ < start_.versions.lowest) {
        return refuse(
            {.code = RefusalCode::versions, .versions = start_.versions, .name = {}},
            versions_sentence(from, peer_versions_, start_.own_name, start_.versions));
    }
    Step step;
    if (start_.role == LinkRole::connector) {
        if (from != start_.peer_name) {
            return Error{Blame::node,
                         "the daemon there is that of " + node_or(from, "no node") +
                             "; check NodeAddr in slurm.conf"};
        }
        step.seal = payload();
        await_ = Await::munge;
        return step;
    }
    const bool is_foreign = is_of_cluster(from);
    const std::string own =
        is_foreign ? name_in_cluster(start_.cluster_name, start_.own_name) : start_.own_name;
    if (is_foreign && to == own && !start_.cluster_name.empty()) {
        start_.own_name = to;
    } else if (start_.own_name.empty() && !is_foreign && !is_of_cluster(to)) {
        start_.own_name = to;
    } else if (to != own || is_foreign) {
        return refuse({.code = RefusalCode::name, .versions = {}, .name = start_.own_name},
                      node_or(from, "a peer") + " addresses this node as " + to +
                          "; check NodeAddr in slurm.conf");
    }
    start_.peer_name = from;
    step.send = greeting();
    await_ = Await::credential;
    return step;
}

Result<Handshake::Step> Handshake::on_credential(ByteReader& reader) {
    Step step;
    step.open = reader.text(kGreetingMax);
    if (!reader.finished() || step.open.empty() || step.open.find('\0') != std::string::npos) {
        return Error{Blame::node, "the program that answers is not stagecastd"};
    }
    await_ = Await::munge;
    return step;
}

Result<Handshake::Step> Handshake::on_sealed(const std::string& credential) {
    ByteWriter message;
    message.u8(static_cast<std::uint8_t>(MessageType::credential)).text(credential);
    if (message.size() > kGreetingMax) {
        return Error{Blame::internal, "munge made a credential that is too long"};
    }
    Step step;
    step.send = remember(with_length(message.view()));
    if (start_.role == LinkRole::connector) {
        await_ = Await::credential;
    } else {
        await_ = Await::nothing;
        step.keys = make_keys();
    }
    return step;
}

Result<Handshake::Step> Handshake::on_opened(const OpenedCredential& opened) {
    const std::string& peer = start_.peer_name;
    if (opened.state == CredentialState::expired || opened.state == CredentialState::rewound) {
        return refuse(
            {.code = RefusalCode::clock,
             .versions = {},
             .encoded_at = opened.encoded_at,
             .decoded_at = opened.decoded_at,
             .name = {}},
            clock_sentence(peer, start_.own_name, opened.encoded_at, opened.decoded_at));
    }
    if (opened.state != CredentialState::valid) {
        return refuse({.code = RefusalCode::credential, .versions = {}, .name = {}},
                      "this node does not accept its credential (" + opened.sentence + "); " +
                          start_.differs);
    }
    const auto& trusted = start_.trusted_uids;
    if (std::find(trusted.begin(), trusted.end(), opened.uid) == trusted.end()) {
        return refuse({.code = RefusalCode::uid, .versions = {}, .name = {}},
                      "its credential was made by uid " + std::to_string(opened.uid) +
                          ", not by root, so it is not from stagecastd");
    }
    const Status checked = check_payload(opened.payload);
    if (!checked) {
        return refuse({.code = RefusalCode::content, .versions = {}, .name = {}},
                      checked.error().sentence());
    }
    Step step;
    if (start_.role == LinkRole::acceptor) {
        step.seal = payload();
        await_ = Await::munge;
    } else {
        await_ = Await::nothing;
        step.keys = make_keys();
    }
    return step;
}

Error Handshake::on_refusal(ByteReader& reader) const {
    const auto code = static_cast<RefusalCode>(reader.u8());
    const VersionRange versions = read_versions(reader);
    const auto encoded_at = static_cast<std::int64_t>(reader.u64());
    const auto decoded_at = static_cast<std::int64_t>(reader.u64());
    const std::string name = reader.text(kNodeNameMax);
    if (!reader.ok() || !is_name(name)) {
        return {Blame::node, "the program that answers is not stagecastd"};
    }
    switch (code) {
        case RefusalCode::versions:
            return {Blame::node,
                    versions_sentence(
                        start_.peer_name, versions, start_.own_name, start_.versions)};
        case RefusalCode::name:
            return {Blame::node,
                    "the daemon there is that of " + node_or(name, "no node") +
                        "; check NodeAddr in slurm.conf"};
        case RefusalCode::credential:
            return {Blame::node,
                    "it does not accept this node's credential; " + start_.differs};
        case RefusalCode::clock:
            return {Blame::node,
                    clock_sentence(start_.own_name, start_.peer_name, encoded_at, decoded_at)};
        case RefusalCode::uid:
            return {Blame::node, "it reports that this daemon does not run as root"};
        case RefusalCode::munge_silent:
            return {Blame::node, "munge there does not answer its daemon; is munged running?"};
        case RefusalCode::content:
            break;
    }
    return {Blame::node, "it refuses this node's login"};
}

std::vector<std::byte> Handshake::greeting() {
    ByteWriter message;
    message.u8(static_cast<std::uint8_t>(MessageType::greeting)).u32(kGreetingMagic);
    write_versions(message, start_.versions);
    message.raw(start_.nonce).text(start_.own_name).text(start_.peer_name);
    return remember(with_length(message.view()));
}

std::vector<std::byte> Handshake::payload() {
    own_secret_ = exchanges() ? public_key(start_.private_key) : start_.private_key;
    ByteWriter out;
    out.u32(kPayloadMagic).u8(static_cast<std::uint8_t>(start_.role));
    write_versions(out, start_.versions);
    out.raw(own_secret_).raw(start_.nonce).raw(peer_nonce_);
    out.text(start_.own_name).text(start_.peer_name);
    return out.take();
}

Status Handshake::check_payload(Bytes payload) {
    ByteReader reader{payload};
    const bool magic = reader.u32() == kPayloadMagic;
    const auto role = static_cast<LinkRole>(reader.u8());
    const VersionRange versions = read_versions(reader);
    LinkNonce theirs{};
    LinkNonce ours{};
    read_array(reader, peer_secret_);
    read_array(reader, theirs);
    read_array(reader, ours);
    const std::string from = reader.text(kNodeNameMax);
    const std::string to = reader.text(kNodeNameMax);
    if (!reader.finished() || !magic || role == start_.role) {
        return Error{Blame::node, "its credential was not made for a stagecast login"};
    }
    if (ours != start_.nonce || theirs != peer_nonce_) {
        return Error{Blame::node, "its credential was made for another connection: a replay"};
    }
    if (from != start_.peer_name || to != start_.own_name || versions != peer_versions_) {
        return Error{Blame::node,
                     "its credential has other names or versions than its greeting"};
    }
    if (!exchanges()) {
        return {};
    }
    const auto common = common_secret(start_.private_key, peer_secret_);
    if (!common) {
        return Error{Blame::node, "its credential has no valid public key"};
    }
    common_ = *common;
    return {};
}

Error Handshake::refuse(Refusal refusal, std::string sentence) {
    refusal_ = std::move(refusal);
    return {Blame::node, std::move(sentence)};
}

std::vector<std::byte> Handshake::remember(std::vector<std::byte> message) {
    transcript_.insert(transcript_.end(), message.begin(), message.end());
    return message;
}

LinkKeys Handshake::make_keys() const {
    const bool connector = start_.role == LinkRole::connector;
    return derive_link_keys(connector ? own_secret_ : peer_secret_,
                            connector ? peer_secret_ : own_secret_,
                            exchanges() ? Bytes{common_} : Bytes{},
                            hash_transcript(transcript_));
}

}  // namespace stage
