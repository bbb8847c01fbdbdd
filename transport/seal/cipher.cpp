#include "transport/seal/cipher.h"

#include "transport/base/codec.h"
#include "transport/base/invariant.h"
#include "transport/seal/octets.h"
#include "transport/wire/packet.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace stage::seal {
namespace {

/// CRC32C (RFC 3720, appendix B.4) of header, then body.
std::array<std::byte, 4> crc32c(Bytes header, Bytes body) {
    // ISA-L's function only reads, but has no const.
    const auto feed = [](unsigned state, Bytes bytes) {
        return crc32_iscsi(const_cast<unsigned char*>(octets(bytes)), length(bytes), state);
    };
    const unsigned sum = ~feed(feed(~0U, header), body);
    std::array<std::byte, 4> out{};
    for (unsigned i = 0; i < 4; ++i) {
        out[i] = static_cast<std::byte>((sum >> (8U * (3U - i))) & 0xffU);
    }
    return out;
}

}  // namespace

std::size_t tag_bytes(Protection protection) {
    return protection == Protection::none ? wire::kCrcBytes : wire::kTagBytes;
}

PacketCipher::PacketCipher(Protection protection, const PacketKey& key, Direction direction)
    : protection_{protection}, direction_{direction}, key_{key} {
    expand();
}

void PacketCipher::expand() {
    if (protection_ == Protection::none || gcm_) {
        return;
    }
    const bool encrypts = protection_ == Protection::encrypt;
    gcm_ = ipsec_gcm(key_, encrypts);
    if (!gcm_) {
        gcm_ = openssl_gcm(key_, direction_, encrypts);
    }
}

void PacketCipher::seal(
    std::uint64_t packet_number, Bytes header, Bytes body, MutableBytes out, MutableBytes tag) {
    invariant(tag.size() == tag_bytes(protection_), "a tag has its protection's size");
    if (protection_ == Protection::none) {
        const auto sum = crc32c(header, body);
        std::copy(sum.begin(), sum.end(), tag.begin());
        return;
    }
    invariant(protection_ == Protection::auth || out.size() == body.size(),
              "a sealed body is as long as the plain one");
    expand();
    gcm_->seal(nonce(key_, packet_number), header, body, out, tag);
}

bool PacketCipher::open(
    std::uint64_t packet_number, Bytes header, Bytes body, MutableBytes out, Bytes tag) {
    if (tag.size() != tag_bytes(protection_)) {
        return false;
    }
    if (protection_ == Protection::none) {
        return std::ranges::equal(crc32c(header, body), tag);
    }
    invariant(protection_ == Protection::auth || out.size() == body.size(),
              "an opened body keeps its length");
    expand();
    return gcm_->open(nonce(key_, packet_number), header, body, out, tag);
}

}  // namespace stage::seal
