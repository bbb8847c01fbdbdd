#include "stager/content/sha256.h"

#include "transport/base/invariant.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

namespace stage {
namespace {

unsigned char* raw(Sha256Digest& digest) {
    return reinterpret_cast<unsigned char*>(digest.data());
}

}  // namespace

Sha256Digest sha256(Bytes bytes) {
    Sha256Digest digest{};
    ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), raw(digest));
    return digest;
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
    ::EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_{::EVP_MD_CTX_new()} {
    invariant(context_ && ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) == 1,
              "OpenSSL has SHA-256");
}

void Sha256::add(Bytes bytes) {
    invariant(::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1,
              "a digest takes bytes");
}

Sha256Digest Sha256::digest() const {
    const std::unique_ptr<evp_md_ctx_st, Free> copy{::EVP_MD_CTX_new()};
    Sha256Digest digest{};
    invariant(copy && ::EVP_MD_CTX_copy_ex(copy.get(), context_.get()) == 1 &&
                  ::EVP_DigestFinal_ex(copy.get(), raw(digest), nullptr) == 1,
              "OpenSSL returns a digest");
    return digest;
}

}  // namespace stage
