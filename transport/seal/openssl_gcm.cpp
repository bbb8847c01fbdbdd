#include "transport/base/invariant.h"
#include "transport/seal/algorithms.h"
#include "transport/seal/gcm.h"
#include "transport/seal/octets.h"
#include "transport/wire/packet.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

namespace stage::seal {
namespace {

struct ContextFree {
    void operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }
};

class OpensslGcm final : public PacketGcm {
  public:
    OpensslGcm(const PacketKey& key, GcmDirection direction, bool encrypts)
        : context_{EVP_CIPHER_CTX_new()}, encrypts_{encrypts} {
        const bool ready = context_ && EVP_CipherInit_ex(context_.get(),
                                                         algorithms().aes_128_gcm.get(),
                                                         nullptr,
                                                         octets(Bytes{key.key}),
                                                         nullptr,
                                                         direction == GcmDirection::seal) == 1;
        invariant(ready, "OpenSSL has AES-128-GCM");
    }

    void seal(Bytes iv, Bytes header, Bytes body, MutableBytes out, MutableBytes tag) override {
        auto* context = context_.get();
        int written = 0;
        std::array<unsigned char, 16> none{};
        const bool sealed =
            EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, octets(iv)) == 1 &&
            EVP_EncryptUpdate(context, nullptr, &written, octets(header), length(header)) ==
                1 &&
            EVP_EncryptUpdate(context, place(out), &written, octets(body), length(body)) == 1 &&
            EVP_EncryptFinal_ex(context, none.data(), &written) == 1 &&
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, length(tag), octets(tag)) == 1;
        invariant(sealed, "OpenSSL seals a packet");
    }

    bool open(Bytes iv, Bytes header, Bytes body, MutableBytes out, Bytes tag) override {
        auto* context = context_.get();
        std::array<std::byte, wire::kTagBytes> expected{};
        std::copy(tag.begin(), tag.end(), expected.begin());
        int written = 0;
        std::array<unsigned char, 16> none{};
        return EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, octets(iv)) == 1 &&
               EVP_CIPHER_CTX_ctrl(context,
                                   EVP_CTRL_GCM_SET_TAG,
                                   static_cast<int>(expected.size()),
                                   expected.data()) == 1 &&
               EVP_DecryptUpdate(context, nullptr, &written, octets(header), length(header)) ==
                   1 &&
               EVP_DecryptUpdate(context, place(out), &written, octets(body), length(body)) ==
                   1 &&
               EVP_DecryptFinal_ex(context, none.data(), &written) == 1;
    }

  private:
    /// OpenSSL's sign for "authenticate it only" is no place for the result.
    [[nodiscard]] unsigned char* place(MutableBytes out) const {
        return encrypts_ ? octets(out) : nullptr;
    }

    std::unique_ptr<evp_cipher_ctx_st, ContextFree> context_;
    bool encrypts_;
};

}  // namespace

std::unique_ptr<PacketGcm> openssl_gcm(const PacketKey& key,
                                       GcmDirection direction,
                                       bool encrypts) {
    return std::make_unique<OpensslGcm>(key, direction, encrypts);
}

}  // namespace stage::seal
