#include "transport/seal/algorithms.h"

#include "transport/base/invariant.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <string>

#if __has_include(<intel-ipsec-mb.h>)
#include <intel-ipsec-mb.h>
#endif

namespace stage::seal {
namespace {

struct KdfContextDeleter {
    void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

#if __has_include(<intel-ipsec-mb.h>)
std::unique_ptr<IMB_MGR, IpsecFree> ready_ipsec() {
    constexpr std::uint64_t kNeeded =
        IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ | IMB_FEATURE_SELF_TEST_PASS;
    if (EVP_default_properties_is_fips_enabled(nullptr) == 1 ||
        (imb_get_feature_flags() & IMB_FEATURE_AESNI) == 0) {
        return nullptr;
    }
    std::unique_ptr<IMB_MGR, IpsecFree> manager{alloc_mb_mgr(0)};
    if (manager) {
        init_mb_mgr_auto(manager.get(), nullptr);
    }
    return manager && (manager->features & kNeeded) == kNeeded ? std::move(manager) : nullptr;
}
#else
std::unique_ptr<IMB_MGR, IpsecFree> ready_ipsec() {
    return nullptr;
}
#endif

Algorithms look_up() {
    Algorithms found;
    found.aes_128_gcm.reset(EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr));
    found.hkdf.reset(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
    invariant(found.aes_128_gcm && found.hkdf, "OpenSSL has AES-128-GCM and HKDF");
    found.ipsec = ready_ipsec();
    return found;
}

}  // namespace

void CipherFree::operator()(evp_cipher_st* cipher) const {
    EVP_CIPHER_free(cipher);
}

void KdfFree::operator()(evp_kdf_st* kdf) const {
    EVP_KDF_free(kdf);
}

void IpsecFree::operator()([[maybe_unused]] IMB_MGR* manager) const {
#if __has_include(<intel-ipsec-mb.h>)
    free_mb_mgr(manager);
#endif
}

const Algorithms& algorithms() {
    static const Algorithms kFound = look_up();
    return kFound;
}

void hkdf(evp_kdf_st* kdf, Bytes secret, Bytes salt, Bytes info, MutableBytes out) {
    const std::unique_ptr<EVP_KDF_CTX, KdfContextDeleter> context{EVP_KDF_CTX_new(kdf)};
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

}  // namespace stage::seal
