#include "transport/seal/algorithms.h"
#include "transport/seal/gcm.h"
#include "transport/seal/octets.h"
#include "transport/wire/packet.h"

#include <openssl/crypto.h>

#if __has_include(<intel-ipsec-mb.h>)
#include <intel-ipsec-mb.h>

#include <array>
#endif

namespace stage::seal {

#if __has_include(<intel-ipsec-mb.h>)

namespace {

class IpsecGcm final : public PacketGcm {
  public:
    IpsecGcm(IMB_MGR& with, const PacketKey& key, bool encrypts)
        : with_{with}, encrypts_{encrypts} {
        IMB_AES128_GCM_PRE(&with_, key.key.data(), &key_);
    }
    IpsecGcm(const IpsecGcm&) = delete;
    IpsecGcm& operator=(const IpsecGcm&) = delete;
    ~IpsecGcm() override { OPENSSL_cleanse(&key_, sizeof(key_)); }

    void seal(Bytes iv, Bytes header, Bytes body, MutableBytes out, MutableBytes tag) override {
        compute(with_.gcm128_enc, iv, header, body, out, tag);
    }

    bool open(Bytes iv, Bytes header, Bytes body, MutableBytes out, Bytes tag) override {
        std::array<std::byte, wire::kTagBytes> right{};
        compute(with_.gcm128_dec, iv, header, body, out, right);
        return tag.size() == right.size() &&
               CRYPTO_memcmp(tag.data(), right.data(), right.size()) == 0;
    }

  private:
    /// `crypt`: for a body that is encrypted.
    void compute(aes_gcm_enc_dec_t crypt,
                 Bytes iv,
                 Bytes header,
                 Bytes body,
                 MutableBytes out,
                 MutableBytes tag) {
        if (encrypts_) {
            crypt(&key_,
                  &context_,
                  octets(out),
                  octets(body),
                  body.size(),
                  octets(iv),
                  octets(header),
                  header.size(),
                  octets(tag),
                  tag.size());
            return;
        }
        IMB_AES128_GMAC_INIT(&with_, &key_, &context_, octets(iv), iv.size());
        IMB_AES128_GMAC_UPDATE(&with_, &key_, &context_, octets(header), header.size());
        IMB_AES128_GMAC_UPDATE(&with_, &key_, &context_, octets(body), body.size());
        IMB_AES128_GMAC_FINALIZE(&with_, &key_, &context_, octets(tag), tag.size());
    }

    IMB_MGR& with_;
    gcm_key_data key_{};
    gcm_context_data context_{};
    bool encrypts_;
};

}  // namespace

std::unique_ptr<PacketGcm> ipsec_gcm(const PacketKey& key, bool encrypts) {
    IMB_MGR* const with = algorithms().ipsec.get();
    return with != nullptr ? std::make_unique<IpsecGcm>(*with, key, encrypts) : nullptr;
}

#else

std::unique_ptr<PacketGcm> ipsec_gcm(const PacketKey& /*key*/, bool /*encrypts*/) {
    return nullptr;
}

#endif

}  // namespace stage::seal
