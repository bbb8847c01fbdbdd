#include "pmix/static/hello.h"

#include "tests/unit/pmix/cards.h"
#include "transport/base/codec.h"
#include "transport/base/prng.h"

#include <catch2/catch.hpp>

#include <cerrno>

namespace stage {
namespace {

HostList hosts_of(std::uint16_t count) {
    HostList hosts;
    for (const Card& card : cards_of(count)) {
        hosts.push_back(card.address);
    }
    return hosts;
}

HelloNonce nonce_of(int seed) {
    HelloNonce nonce;
    nonce.fill(static_cast<std::byte>(seed));
    return nonce;
}

constexpr std::string_view kSecretText = "0123456789abcdef0123456789abcdef";

Bytes secret() {
    return as_bytes(kSecretText);
}

TEST_CASE("challenge, card and table come back") {
    const HelloKey key{secret(), hosts_of(3)};
    const HelloNonce nonce = nonce_of(5);
    CHECK(decode_challenge(encode_challenge(nonce)) == nonce);
    const HelloCard hello =
        decode_hello_card(key, nonce, encode_hello_card(key, nonce, card_of(2)));
    REQUIRE(hello.card);
    CHECK(*hello.card == card_of(2));
    std::vector<std::byte> table = encode_table(cards_of(3));
    const HelloMac mac = key.mac(nonce, table);
    table.insert(table.end(), mac.begin(), mac.end());
    const Result<CardTable> cards = decode_answer(key, nonce, table);
    REQUIRE(cards);
    CHECK(*cards == cards_of(3));
}

TEST_CASE("a refusal brings rank 0's own words") {
    const HelloKey key{secret(), hosts_of(3)};
    const Error why{Blame::node, "rank 1 did not come"};
    const auto answer = decode_answer(key, nonce_of(1), encode_refused(key, nonce_of(1), why));
    REQUIRE_FALSE(answer);
    CHECK(answer.error().sentence() == why.sentence());
    CHECK(answer.error().blame() == Blame::node);
    CHECK(answer.error().cause() == 0);
}

TEST_CASE("another key, nonce or host file is distinguished") {
    const HelloKey key{secret(), hosts_of(3)};
    const HelloKey other{as_bytes("something else"), hosts_of(3)};
    const HelloKey none{{}, hosts_of(3)};
    const HelloKey elsewhere{secret(), hosts_of(4)};
    const auto card = encode_hello_card(key, nonce_of(1), card_of(2));
    CHECK(decode_hello_card(other, nonce_of(1), card).fault == HelloFault::other_key);
    CHECK(decode_hello_card(none, nonce_of(1), card).fault == HelloFault::other_key);
    CHECK(decode_hello_card(key, nonce_of(2), card).fault == HelloFault::other_key);
    CHECK(decode_hello_card(elsewhere, nonce_of(1), card).fault == HelloFault::other_hosts);
    const auto refused = encode_refused(key, nonce_of(1), {Blame::user, "no"});
    CHECK(decode_answer(other, nonce_of(1), refused).error().cause() == EACCES);
    CHECK(decode_answer(key, nonce_of(2), refused).error().cause() == EACCES);
}

TEST_CASE("no changed or shortened message is taken") {
    const HelloKey key{secret(), hosts_of(3)};
    const HelloNonce nonce = nonce_of(9);
    const auto card = encode_hello_card(key, nonce, card_of(2));
    Prng prng{3};
    for (std::size_t at = 0; at < card.size(); ++at) {
        auto changed = card;
        changed[at] ^= static_cast<std::byte>(1 + prng.below(255));
        CHECK_FALSE(decode_hello_card(key, nonce, changed).card);
        CHECK_FALSE(decode_hello_card(key, nonce, Bytes{card}.first(at)).card);
    }
    CHECK(decode_answer(key, nonce, as_bytes("HTTP/1.0 400 Bad Request")).error().cause() ==
          EPROTO);
    CHECK(decode_answer(key, nonce, card).error().cause() == EPROTO);
    CHECK_FALSE(decode_challenge(card));
}

}  // namespace
}  // namespace stage
