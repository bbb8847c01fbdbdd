#include "transport/seal/keys.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"
#include "transport/seal/algorithms.h"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>
#include <string>

namespace stage::seal {
namespace {

constexpr std::string_view kLabel = "stagecast 1 packets";
constexpr std::string_view kRelayLabel = "stagecast 1 relay";

struct KdfContextDeleter {
    void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

/// HKDF-SHA256, extract and expand, into `out`.
void hkdf(Bytes secret, Bytes salt, Bytes info, MutableBytes out) {
    const std::unique_ptr<EVP_KDF_CTX, KdfContextDeleter> context{
        EVP_KDF_CTX_new(algorithms().hkdf.get())};
    // OpenSSL's parameters take no const pointers, yet only read these.
    const auto octets = [](const char* name, Bytes bytes) {
        void* data = const_cast<std::byte*>(bytes.data());
        return OSSL_PARAM_construct_octet_string(name, data, bytes.size());
    };
    std::string digest = "SHA256";
    const std::array parameters{
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
        octets(OSSL_KDF_PARAM_KEY, secret),
        octets(OSSL_KDF_PARAM_SALT, salt),
        octets(OSSL_KDF_PARAM_INFO, info),
        OSSL_PARAM_construct_end(),
    };
    auto* target = reinterpret_cast<unsigned char*>(out.data());
    const bool derived =
        context && EVP_KDF_derive(context.get(), target, out.size(), parameters.data()) == 1;
    invariant(derived, "OpenSSL derives keys by HKDF-SHA256");
}

}  // namespace

const char* to_string(Protection protection) {
    switch (protection) {
        case Protection::none:
            return "none";
        case Protection::auth:
            return "auth";
        case Protection::encrypt:
            break;
    }
    return "encrypt";
}

Result<Protection> read_protection(std::string_view word) {
    for (const auto protection : {Protection::none, Protection::auth, Protection::encrypt}) {
        if (word == to_string(protection)) {
            return protection;
        }
    }
    return Error{Blame::user,
                 "protection is encrypt, auth or none, not '" + std::string{word} + "'"};
}

std::uint32_t demux(const SessionId& session) {
    ByteReader reader{session};
    return reader.u32();
}

SessionId relay_session(const SessionId& multicast) {
    SessionId relay{};
    hkdf(multicast, as_bytes(kRelayLabel), as_bytes(kRelayLabel), relay);
    return relay;
}

PacketKey derive(const GroupKey& group, const SessionId& session, const SenderEpoch& sender) {
    ByteWriter info;
    info.raw(as_bytes(kLabel)).u16(sender.rank.value()).raw(sender.incarnation);
    info.u32(sender.epoch);
    std::array<std::byte, 28> material{};
    hkdf(group, session, info.view(), material);
    PacketKey key{};
    std::copy_n(material.begin(), key.key.size(), key.key.begin());
    std::copy_n(material.begin() + key.key.size(), key.iv.size(), key.iv.begin());
    return key;
}

std::array<std::byte, 12> nonce(const PacketKey& key, std::uint64_t packet_number) {
    std::array<std::byte, 12> value = key.iv;
    for (unsigned i = 0; i < 8; ++i) {
        value[4 + i] ^= static_cast<std::byte>((packet_number >> (8U * (7U - i))) & 0xffU);
    }
    return value;
}

}  // namespace stage::seal
