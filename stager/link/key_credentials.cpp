#include "stager/link/key_credentials.h"

#include "stager/link/frame_seal.h"
#include "transport/base/codec.h"
#include "transport/base/hex.h"
#include "transport/base/random_value.h"

#include <algorithm>
#include <array>
#include <optional>

namespace stage {
namespace {

/// Bounds a time, so that arithmetic with it can't overflow.
constexpr std::uint64_t kLatest = std::uint64_t{1} << 62U;
using Salt = std::array<std::byte, 32>;

std::string sealed_by(Bytes key, std::string_view label, std::int64_t now, Bytes payload) {
    const auto salt = random_value<Salt>();
    ByteWriter plain;
    plain.u64(static_cast<std::uint64_t>(now)).raw(payload);
    std::vector<std::byte> out{salt.begin(), salt.end()};
    FrameSealer{derive_direction(key, salt, label)}.seal(plain.view(), out);
    return std::string{kKeyPrefix} + to_hex(out);
}

/// The plain bytes, or nothing: of another key, another label, changed, or no credential.
std::optional<std::vector<std::byte>> opened_by(Bytes key,
                                                std::string_view label,
                                                std::string_view credential) {
    if (!credential.starts_with(kKeyPrefix)) {
        return std::nullopt;
    }
    const std::string_view digits = credential.substr(kKeyPrefix.size());
    std::vector<std::byte> bytes(digits.size() / 2);
    if (!from_hex(digits, bytes)) {
        return std::nullopt;
    }
    ByteReader reader{bytes};
    const Bytes salt = reader.raw(std::tuple_size_v<Salt>);
    const Bytes frame = reader.raw(reader.left());
    if (!reader.ok()) {
        return std::nullopt;
    }
    auto plain = FrameOpener{derive_direction(key, salt, label)}.open(frame);
    return plain ? std::optional{*std::move(plain)} : std::nullopt;
}

CredentialState state_at(std::int64_t now, std::int64_t made) {
    if (made > now + kCredentialLifetime) {
        return CredentialState::rewound;
    }
    return made < now - kCredentialLifetime ? CredentialState::expired : CredentialState::valid;
}

OpenedCredential refused(std::string why) {
    return {.payload = {}, .sentence = std::move(why)};
}

std::string no_key_for(const std::string& cluster) {
    return "no ClusterKeys= is for cluster " + cluster;
}

std::string cluster_label(const std::string& from, const std::string& to) {
    return "stagecast cluster login 1 " + from + " to " + to;
}

}  // namespace

KeyCredentials::KeyCredentials(SharedKey key, Surroundings surroundings)
    : surroundings_{std::move(surroundings)} {
    const std::string label = "stagecast node login 1";
    by_peer_.try_emplace({}, Shared{std::move(key), label, label});
}

KeyCredentials::KeyCredentials(const std::string& own_cluster,
                               std::map<std::string, SharedKey> keys,
                               Surroundings surroundings)
    : own_cluster_{own_cluster}, surroundings_{std::move(surroundings)} {
    invariant(!own_cluster.empty(), "a cluster that logs in at others has a name");
    for (auto& [cluster, key] : keys) {
        by_peer_.try_emplace(cluster,
                             Shared{std::move(key),
                                    cluster_label(own_cluster, cluster),
                                    cluster_label(cluster, own_cluster)});
    }
}

const KeyCredentials::Shared* KeyCredentials::shared_with(const std::string& peer) const {
    const auto found = by_peer_.find(own_cluster_.empty() ? std::string{} : peer);
    return found != by_peer_.end() ? &found->second : nullptr;
}

Credentials::Ticket KeyCredentials::seal(const std::string& peer,
                                         Bytes payload,
                                         OnSealed done) {
    const Shared* shared = shared_with(peer);
    if (shared == nullptr) {
        return answer<Result<std::string>>(
            std::move(done),
            Error{Blame::node, no_key_for(peer)}.remedy("add one to stagecast.conf here"));
    }
    return answer<Result<std::string>>(
        std::move(done),
        sealed_by(shared->key.bytes(), shared->seals, surroundings_.clock(), payload));
}

Credentials::Ticket KeyCredentials::open(const std::string& peer,
                                         std::string credential,
                                         OnOpened done) {
    return answer<Result<OpenedCredential>>(std::move(done), opened(peer, credential));
}

OpenedCredential KeyCredentials::opened(const std::string& peer,
                                        const std::string& credential) const {
    const Shared* shared = shared_with(peer);
    if (shared == nullptr) {
        return refused(no_key_for(peer));
    }
    const std::string& file = shared->key.file();
    if (credential.starts_with(kMungePrefix)) {
        return refused("it is munge's, and the key here is " + file);
    }
    const auto plain = opened_by(shared->key.bytes(), shared->opens, credential);
    if (!plain) {
        return refused("it does not open with " + file);
    }
    ByteReader reader{*plain};
    const std::int64_t now = surroundings_.clock();
    const auto made = static_cast<std::int64_t>(std::min(reader.u64(), kLatest));
    const Bytes payload = reader.raw(reader.left());
    return {.state = state_at(now, made),
            .uid = 0,
            .encoded_at = made,
            .decoded_at = now,
            .payload = {payload.begin(), payload.end()},
            .sentence = {}};
}

template <class Answer>
Credentials::Ticket KeyCredentials::answer(std::function<void(Answer)> done, Answer said) {
    const Ticket ticket = ++last_ticket_;
    pending_.insert(ticket);
    surroundings_.defer([this, ticket, done = std::move(done), said = std::move(said)] {
        if (pending_.erase(ticket) != 0) {
            done(said);
        }
    });
    return ticket;
}

void KeyCredentials::cancel(Ticket ticket) {
    pending_.erase(ticket);
}

CredentialRemedies KeyCredentials::remedies(const std::string& peer) const {
    const Shared* shared = shared_with(peer);
    std::string differs = "has each of the two clusters ClusterKeys= for the other?";
    if (own_cluster_.empty()) {
        differs = "is AuthKeyFile= set on both nodes, is " + shared->key.file() +
                  " here the same file as there, and was stagecastd restarted since?";
    } else if (shared != nullptr) {
        differs = "have " + own_cluster_ + " and " + peer +
                  " the same file in ClusterKeys=, as " + shared->key.file() + " here?";
    }
    return {.differs = std::move(differs), .silent = "is that node overloaded?"};
}

}  // namespace stage
