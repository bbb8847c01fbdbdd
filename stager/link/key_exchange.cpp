#include "stager/link/key_exchange.h"

#include <openssl/evp.h>

#include <memory>

namespace stage {
namespace {

struct KeyFree {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyFree>;

struct ContextFree {
    void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};

const unsigned char* raw(const LinkSecret& bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw(LinkSecret& bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

Key private_of(const LinkSecret& bytes) {
    return Key{
        EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, raw(bytes), bytes.size())};
}

}  // namespace

bool can_exchange() {
    constexpr LinkSecret kAny{std::byte{1}};
    return common_secret(kAny, LinkSecret{std::byte{9}}).has_value();
}

LinkSecret public_key(const LinkSecret& private_key) {
    const Key key = private_of(private_key);
    LinkSecret made{};
    std::size_t length = made.size();
    invariant(key != nullptr &&
                  EVP_PKEY_get_raw_public_key(key.get(), raw(made), &length) == 1 &&
                  length == made.size(),
              "OpenSSL has X25519 where it is used");
    return made;
}

std::optional<LinkSecret> common_secret(const LinkSecret& private_key,
                                        const LinkSecret& peer_public) {
    const Key own = private_of(private_key);
    const Key peer{EVP_PKEY_new_raw_public_key(
        EVP_PKEY_X25519, nullptr, raw(peer_public), peer_public.size())};
    const std::unique_ptr<EVP_PKEY_CTX, ContextFree> context{
        own != nullptr ? EVP_PKEY_CTX_new(own.get(), nullptr) : nullptr};
    LinkSecret common{};
    std::size_t length = common.size();
    // The last call fails on a common secret of zeros, which keys of low order have with all.
    const bool is_done =
        context != nullptr && peer != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
        EVP_PKEY_derive_set_peer(context.get(), peer.get()) == 1 &&
        EVP_PKEY_derive(context.get(), raw(common), &length) == 1 && length == common.size();
    return is_done ? std::optional{common} : std::nullopt;
}

}  // namespace stage
