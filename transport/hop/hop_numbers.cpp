#include "transport/hop/hop_numbers.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"
#include "transport/fabric/address_field.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace stage::hop {

std::uint64_t ListenerNumbers::of(const Address& dialler, std::uint64_t number) const {
    ByteWriter text;
    text.u64(number).text(dialler.to_string());
    const auto octets = [](const std::byte* bytes) {
        return reinterpret_cast<const unsigned char*>(bytes);
    };
    std::array<std::byte, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    const auto* done = ::HMAC(EVP_sha256(),
                              secret_.data(),
                              static_cast<int>(secret_.size()),
                              octets(text.view().data()),
                              text.size(),
                              reinterpret_cast<unsigned char*>(digest.data()),
                              &length);
    invariant(done != nullptr && length >= sizeof(std::uint64_t), "SHA-256 is there");
    return ByteReader{digest}.u64();
}

}  // namespace stage::hop
