#include "pmix/static/hello.h"

#include "transport/base/codec.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stage {
namespace {

/// "stg" and the version of this protocol.
constexpr std::uint32_t kHello = 0x73746701U;
constexpr std::size_t kMaxSentence = 4096;

enum class Type : std::uint8_t { challenge = 1, card = 2, table = 3, refused = 4 };

ByteWriter begin(Type type) {
    ByteWriter out;
    out.u32(kHello).u8(static_cast<std::uint8_t>(type));
    return out;
}

std::optional<Type> begin(ByteReader& in) {
    const bool ours = in.u32() == kHello;
    const std::uint8_t type = in.u8();
    if (!ours || !in.ok() || type < 1 || type > 4) {
        return std::nullopt;
    }
    return static_cast<Type>(type);
}

HelloDigest hmac(Bytes key, Bytes message) {
    std::array<unsigned char, 32> raw{};
    unsigned int length = 0;
    const auto* const text = reinterpret_cast<const unsigned char*>(message.data());
    const void* done = ::HMAC(EVP_sha256(),
                              key.data(),
                              static_cast<int>(key.size()),
                              text,
                              message.size(),
                              raw.data(),
                              &length);
    invariant(done != nullptr && length == raw.size(), "HMAC-SHA256 is available");
    HelloDigest digest{};
    std::memcpy(digest.data(), raw.data(), raw.size());
    return digest;
}

/// Splits the MAC off; returns nothing if the message is too short to have one.
std::optional<std::pair<Bytes, Bytes>> split(Bytes message) {
    const std::size_t tail = sizeof(HelloMac);
    if (message.size() < tail) {
        return std::nullopt;
    }
    return std::pair{message.first(message.size() - tail), message.last(tail)};
}

std::vector<std::byte> sealed(const HelloKey& key, const HelloNonce& nonce, ByteWriter out) {
    const HelloMac mac = key.mac(nonce, out.view());
    out.raw(mac);
    return out.take();
}

}  // namespace

HelloKey::HelloKey(Bytes group_key, const HostList& hosts) {
    // A derived key, so that no MAC here reveals anything about a packet's.
    const Bytes secret = group_key.empty() ? as_bytes("unprotected") : group_key;
    key_ = hmac(secret, as_bytes("stagecast hello 1"));
    ByteWriter text;
    for (const IpAddress& host : hosts) {
        text.u8(static_cast<std::uint8_t>(host.family)).raw(host.octets);
    }
    hosts_ = hmac(as_bytes("hosts"), text.view());
}

HelloMac HelloKey::mac(const HelloNonce& nonce, Bytes message) const {
    std::vector<std::byte> text{nonce.begin(), nonce.end()};
    text.insert(text.end(), message.begin(), message.end());
    return hmac(key_, text);
}

bool HelloKey::is_mac(const HelloNonce& nonce, Bytes message, Bytes given) const {
    const HelloMac right = mac(nonce, message);
    return given.size() == right.size() &&
           ::CRYPTO_memcmp(right.data(), given.data(), right.size()) == 0;
}

std::vector<std::byte> encode_challenge(const HelloNonce& nonce) {
    return begin(Type::challenge).raw(nonce).take();
}

std::optional<HelloNonce> decode_challenge(Bytes message) {
    ByteReader in{message};
    HelloNonce nonce{};
    if (begin(in) != Type::challenge) {
        return std::nullopt;
    }
    const Bytes bytes = in.raw(nonce.size());
    if (!in.finished()) {
        return std::nullopt;
    }
    std::copy(bytes.begin(), bytes.end(), nonce.begin());
    return nonce;
}

std::vector<std::byte> encode_hello_card(const HelloKey& key,
                                         const HelloNonce& nonce,
                                         const Card& card) {
    ByteWriter out = begin(Type::card);
    out.raw(key.hosts()).blob(encode_card(card));
    return sealed(key, nonce, std::move(out));
}

HelloCard decode_hello_card(const HelloKey& key, const HelloNonce& nonce, Bytes message) {
    const auto parts = split(message);
    if (!parts) {
        return {};
    }
    ByteReader in{parts->first};
    if (begin(in) != Type::card) {
        return {};
    }
    if (!key.is_mac(nonce, parts->first, parts->second)) {
        return {.card = {}, .fault = HelloFault::other_key};
    }
    const Bytes hosts = in.raw(sizeof(HelloDigest));
    if (!std::equal(hosts.begin(), hosts.end(), key.hosts().begin(), key.hosts().end())) {
        return {.card = {}, .fault = HelloFault::other_hosts};
    }
    Result<Card> card = decode_card(in.blob(kMaxBusinessCardBytes));
    if (!in.finished() || !card) {
        return {};
    }
    return {.card = *std::move(card), .fault = {}};
}

std::vector<std::byte> encode_table(const CardTable& cards) {
    return begin(Type::table).raw(encode_cards(cards)).take();
}

std::vector<std::byte> encode_refused(const HelloKey& key,
                                      const HelloNonce& nonce,
                                      const Error& why) {
    ByteWriter out = begin(Type::refused);
    out.u8(static_cast<std::uint8_t>(why.blame()));
    out.text(why.sentence().substr(0, kMaxSentence));
    return sealed(key, nonce, std::move(out));
}

Result<CardTable> decode_answer(const HelloKey& key, const HelloNonce& nonce, Bytes message) {
    const Error noise{Blame::node, "it does not speak as stagecast does", EPROTO};
    const auto parts = split(message);
    if (!parts) {
        return noise;
    }
    ByteReader in{parts->first};
    const std::optional<Type> type = begin(in);
    if (type != Type::table && type != Type::refused) {
        return noise;
    }
    if (!key.is_mac(nonce, parts->first, parts->second)) {
        return Error{Blame::user, "it has another key", EACCES}.remedy(
            "give every member the same --key-file and --protection");
    }
    if (type == Type::table) {
        return decode_cards(in.raw(in.left()));
    }
    const std::uint8_t blame = in.u8();
    std::string sentence = in.text(kMaxSentence);
    if (!in.finished() || blame > static_cast<std::uint8_t>(Blame::internal)) {
        return noise;
    }
    return Error{static_cast<Blame>(blame), std::move(sentence)};
}

}  // namespace stage
