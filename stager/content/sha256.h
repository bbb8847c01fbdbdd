// Computes SHA-256 digests with OpenSSL.
#pragma once

#include "transport/base/units.h"

#include <array>
#include <memory>

extern "C" {
struct evp_md_ctx_st;
}

namespace stage {

using Sha256Digest = std::array<std::byte, 32>;

[[nodiscard]] Sha256Digest sha256(Bytes bytes);

/// Computes the digest of bytes that arrive in pieces.
class Sha256 {
  public:
    Sha256();
    void add(Bytes bytes);
    /// The digest of all bytes added so far; more may follow.
    [[nodiscard]] Sha256Digest digest() const;

  private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace stage
