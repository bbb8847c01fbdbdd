#include "stager/link/frame_seal.h"

#include "transport/base/codec.h"
#include "transport/seal/algorithms.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <string>

namespace stage {
namespace {

// OpenSSL uses unsigned char; bytes are converted only here.
unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

std::array<std::byte, 12> nonce_of(const DirectionKey& key, std::uint64_t number) {
    std::array<std::byte, 12> nonce = key.nonce_base;
    for (std::size_t i = 0; i < sizeof number; ++i) {
        nonce[nonce.size() - 1 - i] ^= static_cast<std::byte>((number >> (8 * i)) & 0xffU);
    }
    return nonce;
}

CipherContext new_context(const DirectionKey& key, bool sealing) {
    CipherContext context{EVP_CIPHER_CTX_new()};
    invariant(context != nullptr && EVP_CipherInit_ex(context.get(),
                                                      EVP_aes_128_gcm(),
                                                      nullptr,
                                                      raw(key.key.data()),
                                                      nullptr,
                                                      sealing ? 1 : 0) == 1,
              "OpenSSL knows AES-128-GCM");
    return context;
}

/// The 4 bytes before a frame of `plain_length`.
std::array<std::byte, kFrameHeader> header_of(std::size_t plain_length) {
    const auto length = static_cast<std::uint32_t>(plain_length + kFrameTag);
    std::array<std::byte, kFrameHeader> header{};
    for (std::size_t i = 0; i < header.size(); ++i) {
        header[i] = static_cast<std::byte>((length >> (8 * (header.size() - 1 - i))) & 0xffU);
    }
    return header;
}

int length_of(Bytes bytes) {
    return static_cast<int>(bytes.size());  // at most kFrameMax
}

}  // namespace

DirectionKey::~DirectionKey() {
    OPENSSL_cleanse(key.data(), key.size());
    OPENSSL_cleanse(nonce_base.data(), nonce_base.size());
}

void CipherContextFree::operator()(evp_cipher_ctx_st* context) const {
    EVP_CIPHER_CTX_free(context);
}

TranscriptHash hash_transcript(Bytes messages) {
    TranscriptHash hash{};
    unsigned int length = 0;
    invariant(EVP_Digest(messages.data(),
                         messages.size(),
                         raw(hash.data()),
                         &length,
                         EVP_sha256(),
                         nullptr) == 1 &&
                  length == hash.size(),
              "OpenSSL knows SHA-256");
    return hash;
}

DirectionKey derive_direction(Bytes secret, Bytes salt, std::string_view label) {
    const std::unique_ptr<EVP_KDF, seal::KdfFree> kdf{EVP_KDF_fetch(nullptr, "HKDF", nullptr)};
    invariant(kdf != nullptr, "OpenSSL knows HKDF");
    const std::string name{label};
    DirectionKey direction;
    seal::hkdf(kdf.get(), secret, salt, as_bytes(name + " key"), direction.key);
    seal::hkdf(kdf.get(), secret, salt, as_bytes(name + " nonce"), direction.nonce_base);
    return direction;
}

LinkKeys derive_link_keys(const LinkSecret& connector,
                          const LinkSecret& acceptor,
                          Bytes common,
                          const TranscriptHash& transcript) {
    std::array<std::byte, 3 * std::tuple_size_v<LinkSecret>> all{};
    auto end = std::copy(connector.begin(), connector.end(), all.begin());
    end = std::copy(acceptor.begin(), acceptor.end(), end);
    end = std::copy(common.begin(), common.end(), end);
    const Bytes secret = Bytes{all}.first(static_cast<std::size_t>(end - all.begin()));
    LinkKeys keys{
        .to_acceptor = derive_direction(secret, transcript, "stagecast link 1 to acceptor"),
        .to_connector = derive_direction(secret, transcript, "stagecast link 1 to connector")};
    OPENSSL_cleanse(all.data(), all.size());
    return keys;
}

FrameSealer::FrameSealer(const DirectionKey& key)
    : context_{new_context(key, true)}, key_{key} {
}

void FrameSealer::seal(Bytes plain, std::vector<std::byte>& out) {
    invariant(!plain.empty() && plain.size() <= kFrameMax, "a frame has 1 byte to 4 MiB");
    const auto header = header_of(plain.size());
    const auto nonce = nonce_of(key_, number_++);
    out.insert(out.end(), header.begin(), header.end());
    const std::size_t start = out.size();
    out.resize(start + plain.size() + kFrameTag);
    int done = 0;
    auto* context = context_.get();
    const bool sealed =
        EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, raw(nonce.data())) == 1 &&
        EVP_EncryptUpdate(context, nullptr, &done, raw(header.data()), length_of(header)) ==
            1 &&
        EVP_EncryptUpdate(
            context, raw(&out[start]), &done, raw(plain.data()), length_of(plain)) == 1 &&
        EVP_EncryptFinal_ex(context, raw(&out[start + plain.size()]), &done) == 1 &&
        EVP_CIPHER_CTX_ctrl(
            context, EVP_CTRL_GCM_GET_TAG, kFrameTag, &out[start + plain.size()]) == 1;
    invariant(sealed, "sealing depends on nothing outside");
}

FrameOpener::FrameOpener(const DirectionKey& key)
    : context_{new_context(key, false)}, key_{key} {
}

Result<std::size_t> FrameOpener::whole_length(Bytes header) {
    ByteReader reader{header};
    const std::size_t length = reader.u32();
    if (!reader.ok() || length <= kFrameTag || length > kFrameMax + kFrameTag) {
        return Error{
            Blame::node,
            "a frame of " + std::to_string(length) + " bytes is not one of stagecast's"};
    }
    return kFrameHeader + length;
}

Result<std::vector<std::byte>> FrameOpener::open(Bytes frame) {
    const auto whole = whole_length(frame.first(std::min(frame.size(), kFrameHeader)));
    if (!whole || *whole != frame.size()) {
        return Error{Blame::node, "a frame is not whole"};
    }
    const Bytes header = frame.first(kFrameHeader);
    const Bytes sealed = frame.subspan(kFrameHeader, frame.size() - kFrameHeader - kFrameTag);
    std::array<std::byte, kFrameTag> tag{};
    std::copy(frame.end() - kFrameTag, frame.end(), tag.begin());
    const auto nonce = nonce_of(key_, number_++);
    std::vector<std::byte> plain(sealed.size());
    int done = 0;
    auto* context = context_.get();
    const bool opened =
        EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, raw(nonce.data())) == 1 &&
        EVP_DecryptUpdate(context, nullptr, &done, raw(header.data()), length_of(header)) ==
            1 &&
        EVP_DecryptUpdate(
            context, raw(plain.data()), &done, raw(sealed.data()), length_of(sealed)) == 1 &&
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, kFrameTag, tag.data()) == 1 &&
        EVP_DecryptFinal_ex(context, raw(tag.data()), &done) == 1;
    if (!opened) {
        return Error{Blame::node, "a frame was forged or damaged in transit"};
    }
    return plain;
}

}  // namespace stage
