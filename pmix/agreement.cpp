#include "pmix/agreement.h"

#include "transport/base/codec.h"

#include <openssl/evp.h>

#include <algorithm>

namespace stage {
namespace {

using Digest = std::array<std::byte, 32>;

/// The digest covers only fields that every release has and every member decodes to the same
/// value.
Digest digest_of(const CardTable& cards) {
    ByteWriter text;
    text.raw(as_bytes("stagecast cards 1"));
    for (const Card& card : cards) {
        text.u16(card.rank.value()).u8(static_cast<std::uint8_t>(card.address.family));
        text.raw(card.address.octets).raw(card.incarnation);
    }
    std::array<unsigned char, 32> raw{};
    unsigned int length = 0;
    const int done =
        EVP_Digest(text.view().data(), text.size(), raw.data(), &length, EVP_sha256(), nullptr);
    invariant(done == 1 && length == raw.size(), "SHA-256 is available");
    Digest digest{};
    std::transform(raw.begin(), raw.end(), digest.begin(), [](unsigned char octet) {
        return static_cast<std::byte>(octet);
    });
    return digest;
}

}  // namespace

Result<std::uint8_t> common_version(const CardTable& cards) {
    invariant(!cards.empty(), "a group has members");
    const auto oldest = std::min_element(cards.begin(), cards.end(), [](auto& a, auto& b) {
        return a.version_max < b.version_max;
    });
    const auto newest = std::max_element(cards.begin(), cards.end(), [](auto& a, auto& b) {
        return a.version_min < b.version_min;
    });
    if (newest->version_min > oldest->version_max) {
        return Error{Blame::node,
                     "no packet version is supported by all members: " + describe(*oldest) +
                         " speaks up to " + std::to_string(oldest->version_max) + ", " +
                         describe(*newest) + " from " + std::to_string(newest->version_min)}
            .remedy("install the same release of stagecast on both nodes");
    }
    return oldest->version_max;
}

Result<Agreement> agree(const CardTable& cards, std::optional<std::uint64_t> context_id) {
    TRY(auto version, common_version(cards));
    const Digest digest = digest_of(cards);
    Agreement agreement;
    agreement.version = version;
    std::copy_n(digest.begin(), agreement.session.size(), agreement.session.begin());
    ByteReader rest{Bytes{digest}.subspan(agreement.session.size())};
    agreement.draw = rest.u64() ^ context_id.value_or(0);
    return agreement;
}

}  // namespace stage
