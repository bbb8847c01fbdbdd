// Fuzzes the messages between members of a host file.
//
// The first byte chooses what is read, by rank 0 or by a member, and whether the input gets a
// right MAC first, for the parsers behind it.
#include "pmix/static/hello.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/pmix/cards.h"

namespace stage {
namespace {

constexpr std::uint8_t kMember = 1;
constexpr std::uint8_t kSealed = 2;

HelloNonce nonce() {
    HelloNonce nonce{};
    nonce.fill(std::byte{0x77});
    return nonce;
}

HelloKey key_of(std::string_view secret) {
    return HelloKey{as_bytes(secret), {card_of(0).address, card_of(1).address}};
}

/// The message and, if `sealed`, its MAC under the group's key.
std::vector<std::byte> message_of(Bytes bytes, bool sealed) {
    ByteWriter out;
    out.raw(bytes);
    if (sealed) {
        const HelloMac mac = key_of("ours").mac(nonce(), bytes);
        out.raw(mac);
    }
    return out.take();
}

bool check_card(Bytes message, bool sealed) {
    const HelloCard hello = decode_hello_card(key_of("ours"), nonce(), message);
    invariant(!hello.card || sealed, "a card is believed only under the group's key");
    const HelloCard other = decode_hello_card(key_of("theirs"), nonce(), message);
    invariant(!other.card, "a card under another key is refused");
    if (!hello.card) {
        return false;
    }
    const auto again = encode_hello_card(key_of("ours"), nonce(), *hello.card);
    const HelloCard back = decode_hello_card(key_of("ours"), nonce(), again);
    invariant(back.card == hello.card, "a card arrives as it was sent");
    return true;
}

bool check_answer(Bytes message, bool sealed) {
    const auto cards = decode_answer(key_of("ours"), nonce(), message);
    invariant(!cards || sealed, "a table is believed only under the group's key");
    invariant(!decode_answer(key_of("theirs"), nonce(), message),
              "a table under another key is refused");
    if (!cards) {
        return sealed && cards.error().cause() == 0;
    }
    const auto again =
        decode_answer(key_of("ours"), nonce(), message_of(encode_table(*cards), true));
    invariant(again && *again == *cards, "a table arrives as it was sent");
    return true;
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (input.empty()) {
        return false;
    }
    const auto choice = std::to_integer<unsigned>(input.front());
    const bool sealed = (choice & kSealed) != 0;
    const auto message = message_of(input.subspan(1), sealed);
    if ((choice & kMember) == 0) {
        return check_card(message, sealed);
    }
    const bool challenge = is_exact(message, decode_challenge, encode_challenge);
    return check_answer(message, sealed) || challenge;
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto unsealed = [](std::vector<std::byte> message) {
        message.resize(message.size() - sizeof(HelloMac));
        return message;
    };
    const HelloKey key = key_of("ours");
    const auto card = unsealed(encode_hello_card(key, nonce(), card_of(1)));
    const Error why{Blame::user, "rank 1 has another host file"};
    const auto refused = unsealed(encode_refused(key, nonce(), why));
    return {{"card", chosen(kSealed, card)},
            {"challenge", chosen(kMember, encode_challenge(nonce()))},
            {"table", chosen(kMember | kSealed, encode_table(cards_of(3)))},
            {"refused", chosen(kMember | kSealed, refused)}};
}

}  // namespace stage
