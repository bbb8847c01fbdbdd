#include "transport/seal/algorithms.h"

#include "transport/base/invariant.h"

#include <openssl/evp.h>
#include <openssl/kdf.h>

namespace stage::seal {
namespace {

Algorithms look_up() {
    Algorithms found;
    found.aes_128_gcm.reset(EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr));
    found.hkdf.reset(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
    invariant(found.aes_128_gcm && found.hkdf, "OpenSSL has AES-128-GCM and HKDF");
    return found;
}

}  // namespace

void CipherFree::operator()(evp_cipher_st* cipher) const {
    EVP_CIPHER_free(cipher);
}

void KdfFree::operator()(evp_kdf_st* kdf) const {
    EVP_KDF_free(kdf);
}

const Algorithms& algorithms() {
    static const Algorithms kFound = look_up();
    return kFound;
}

}  // namespace stage::seal
