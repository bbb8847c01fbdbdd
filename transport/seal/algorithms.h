// Looks up the algorithms that seal packets, once in a process.
//
// Looking them up and preparing them takes longer than sealing a small file, so the caller does
// it when it has time.
#pragma once

#include "transport/base/units.h"

#include <memory>

struct evp_cipher_st;
struct evp_kdf_st;
struct IMB_MGR;

namespace stage::seal {

struct CipherFree {
    void operator()(evp_cipher_st* cipher) const;
};
struct KdfFree {
    void operator()(evp_kdf_st* kdf) const;
};
struct IpsecFree {
    void operator()(IMB_MGR* manager) const;
};

struct Algorithms {
    std::unique_ptr<evp_cipher_st, CipherFree> aes_128_gcm;
    std::unique_ptr<evp_kdf_st, KdfFree> hkdf;
    /// Functions for this processor. Null if it lacks the instructions, if their self-test
    /// fails, or if OpenSSL is configured for FIPS 140.
    std::unique_ptr<IMB_MGR, IpsecFree> ipsec;
};

/// Looks the algorithms up at the first call.
[[nodiscard]] const Algorithms& algorithms();

/// Derives `out` by HKDF-SHA256 (RFC 5869), extract and expand. `kdf`: OpenSSL's HKDF.
void hkdf(evp_kdf_st* kdf, Bytes secret, Bytes salt, Bytes info, MutableBytes out);

}  // namespace stage::seal
