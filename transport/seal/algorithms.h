// Which algorithms of which library seal packets?
//
// They are looked up by name and made ready, which takes longer than a small file takes to
// seal: so once in a process, and when the caller has time for it.
#pragma once

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
    /// Functions for this processor; none if it lacks the instructions, if they fail their own
    /// test, or if OpenSSL was told to keep to FIPS 140.
    std::unique_ptr<IMB_MGR, IpsecFree> ipsec;
};

/// The first call looks them up, later ones only give them.
[[nodiscard]] const Algorithms& algorithms();

}  // namespace stage::seal
