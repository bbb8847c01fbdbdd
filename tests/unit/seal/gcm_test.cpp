// Tests that both libraries compute the same seals.
#include "transport/seal/gcm.h"

#include "transport/base/prng.h"
#include "transport/seal/algorithms.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

using namespace stage;
using namespace stage::seal;

namespace {

std::vector<std::byte> noise(Prng& prng, std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::ranges::generate(bytes, [&] { return static_cast<std::byte>(prng.next()); });
    return bytes;
}

struct Sealed {
    std::vector<std::byte> body;
    std::vector<std::byte> tag;

    bool operator==(const Sealed&) const = default;
};

/// `apart`: from one place to another; else where it is.
Sealed sealed(PacketGcm& gcm, Bytes iv, Bytes header, Bytes body, bool encrypts, bool apart) {
    Sealed done{{body.begin(), body.end()}, std::vector<std::byte>(12)};
    if (!encrypts) {
        gcm.seal(iv, header, body, {}, done.tag);
    } else if (apart) {
        gcm.seal(iv, header, body, done.body, done.tag);
    } else {
        gcm.seal(iv, header, done.body, done.body, done.tag);
    }
    return done;
}

}  // namespace

TEST_CASE("what one library seals the other opens, and nothing that was changed") {
    const bool encrypts = GENERATE(false, true);
    Prng prng{7};
    PacketKey key{};
    std::ranges::generate(key.key, [&] { return static_cast<std::byte>(prng.next()); });
    const auto fast = ipsec_gcm(key, encrypts);
    if (!fast) {
        WARN("skipped: this build or processor has OpenSSL alone");
        return;
    }
    const auto sealer = openssl_gcm(key, GcmDirection::seal, encrypts);
    const auto opener = openssl_gcm(key, GcmDirection::open, encrypts);
    for (int round = 0; round < 3000; ++round) {
        const auto iv = noise(prng, 12);
        const auto header = noise(prng, prng.below(40));
        const auto body =
            noise(prng, round < 300 ? static_cast<std::size_t>(round) : prng.below(9100));
        const bool apart = prng.below(2) == 0;
        CAPTURE(round, header.size(), body.size(), apart);
        const Sealed one = sealed(*fast, iv, header, body, encrypts, apart);
        REQUIRE(one == sealed(*sealer, iv, header, body, encrypts, apart));
        for (PacketGcm* const each : {fast.get(), opener.get()}) {
            Sealed got = one;
            const MutableBytes out = encrypts ? MutableBytes{got.body} : MutableBytes{};
            REQUIRE(each->open(iv, header, got.body, out, one.tag));
            REQUIRE(got.body == body);
            Sealed bad = one;
            auto& spoilt = bad.body.empty() || prng.below(2) == 0 ? bad.tag : bad.body;
            spoilt[prng.below(spoilt.size())] ^= static_cast<std::byte>(1U << prng.below(8));
            const MutableBytes garbage = encrypts ? MutableBytes{bad.body} : MutableBytes{};
            REQUIRE_FALSE(each->open(iv, header, bad.body, garbage, bad.tag));
        }
    }
}

TEST_CASE("an authenticated body is left as it is, wherever it may be wanted") {
    for (auto& gcm : {ipsec_gcm({}, false), openssl_gcm({}, GcmDirection::seal, false)}) {
        if (gcm) {
            std::vector<std::byte> body(100, std::byte{5});
            std::vector<std::byte> tag(12);
            gcm->seal(std::vector<std::byte>(12), {}, body, body, tag);
            CHECK(body == std::vector<std::byte>(100, std::byte{5}));
        }
    }
}

TEST_CASE("this processor's own functions are used where there are some") {
    const bool here = algorithms().ipsec != nullptr;
    CHECK((ipsec_gcm({}, true) != nullptr) == here);
}
