#include "transport/seal/cipher.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"
#include "transport/seal/algorithms.h"
#include "transport/wire/packet.h"

#include <isa-l/crc.h>
#include <openssl/evp.h>

#include <algorithm>

namespace stage::seal {
namespace {

const unsigned char* octets(Bytes bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

unsigned char* octets(MutableBytes bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

int length(Bytes bytes) {
    return static_cast<int>(bytes.size());
}

/// CRC32C (RFC 3720, appendix B.4) of header, then body.
std::array<std::byte, 4> crc32c(Bytes header, Bytes body) {
    // ISA-L's function only reads, but has no const.
    const auto feed = [](unsigned state, Bytes bytes) {
        return crc32_iscsi(const_cast<unsigned char*>(octets(bytes)), length(bytes), state);
    };
    const unsigned sum = ~feed(feed(~0U, header), body);
    std::array<std::byte, 4> out{};
    for (unsigned i = 0; i < 4; ++i) {
        out[i] = static_cast<std::byte>((sum >> (8U * (3U - i))) & 0xffU);
    }
    return out;
}

}  // namespace

std::size_t tag_bytes(Protection protection) {
    return protection == Protection::none ? wire::kCrcBytes : wire::kTagBytes;
}

void PacketCipher::ContextDeleter::operator()(evp_cipher_ctx_st* context) const {
    EVP_CIPHER_CTX_free(context);
}

PacketCipher::PacketCipher(Protection protection, const PacketKey& key, Direction direction)
    : protection_{protection}, key_{key} {
    if (protection_ == Protection::none) {
        return;
    }
    context_.reset(EVP_CIPHER_CTX_new());
    const int encrypting = direction == Direction::seal ? 1 : 0;
    const bool ready = context_ && EVP_CipherInit_ex(context_.get(),
                                                     algorithms().aes_128_gcm.get(),
                                                     nullptr,
                                                     octets(Bytes{key_.key}),
                                                     nullptr,
                                                     encrypting) == 1;
    invariant(ready, "OpenSSL has AES-128-GCM");
}

void PacketCipher::seal(
    std::uint64_t packet_number, Bytes header, Bytes body, MutableBytes out, MutableBytes tag) {
    invariant(tag.size() == tag_bytes(protection_), "a tag has its protection's size");
    if (protection_ == Protection::none) {
        const auto sum = crc32c(header, body);
        std::copy(sum.begin(), sum.end(), tag.begin());
        return;
    }
    const auto iv = nonce(key_, packet_number);
    auto* context = context_.get();
    int written = 0;
    bool sealed =
        EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, octets(Bytes{iv})) == 1 &&
        EVP_EncryptUpdate(context, nullptr, &written, octets(header), length(header)) == 1;
    if (protection_ == Protection::encrypt) {
        invariant(out.size() == body.size(), "a sealed body is as long as the plain one");
        sealed = sealed && EVP_EncryptUpdate(
                               context, octets(out), &written, octets(body), length(body)) == 1;
    } else {
        sealed = sealed &&
                 EVP_EncryptUpdate(context, nullptr, &written, octets(body), length(body)) == 1;
    }
    std::array<unsigned char, 16> none{};
    sealed = sealed && EVP_EncryptFinal_ex(context, none.data(), &written) == 1 &&
             EVP_CIPHER_CTX_ctrl(
                 context, EVP_CTRL_GCM_GET_TAG, static_cast<int>(tag.size()), tag.data()) == 1;
    invariant(sealed, "OpenSSL seals a packet");
}

bool PacketCipher::open(
    std::uint64_t packet_number, Bytes header, Bytes body, MutableBytes out, Bytes tag) {
    if (tag.size() != tag_bytes(protection_)) {
        return false;
    }
    if (protection_ == Protection::none) {
        return std::ranges::equal(crc32c(header, body), tag);
    }
    const auto iv = nonce(key_, packet_number);
    auto* context = context_.get();
    std::array<std::byte, wire::kTagBytes> expected{};
    std::copy(tag.begin(), tag.end(), expected.begin());
    int written = 0;
    const bool fed =
        EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, octets(Bytes{iv})) == 1 &&
        EVP_CIPHER_CTX_ctrl(context,
                            EVP_CTRL_GCM_SET_TAG,
                            static_cast<int>(expected.size()),
                            expected.data()) == 1 &&
        EVP_DecryptUpdate(context, nullptr, &written, octets(header), length(header)) == 1;
    unsigned char* plain = protection_ == Protection::encrypt ? octets(out) : nullptr;
    invariant(plain == nullptr || out.size() == body.size(), "an opened body keeps its length");
    std::array<unsigned char, 16> none{};
    return fed &&
           EVP_DecryptUpdate(context, plain, &written, octets(body), length(body)) == 1 &&
           EVP_DecryptFinal_ex(context, none.data(), &written) == 1;
}

}  // namespace stage::seal
