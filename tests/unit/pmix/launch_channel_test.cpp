#include "pmix/launch_channel.h"

#include "tests/unit/pmix/cards.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

LaunchKey key() {
    LaunchKey key{};
    key.fill(std::byte{0xa5});
    return key;
}

/// The line for a reader.
std::string without_newlines(const std::string& text) {
    const std::size_t begin = text.front() == '\n' ? 1 : 0;
    REQUIRE(text.back() == '\n');
    return text.substr(begin, text.size() - begin - 1);
}

TEST_CASE("key, card and table come back as they were written") {
    CHECK(key_in(without_newlines(key_line(key()))) == key());
    CHECK(sealed_key_in(without_newlines(sealed_key_line("MUNGE:ab:"))) == "MUNGE:ab:");
    CHECK_FALSE(key_in(without_newlines(sealed_key_line("MUNGE:ab:"))));
    const auto card = encode_card(card_of(3));
    CHECK(card_in(without_newlines(card_line(card))) == card);
    const auto table = encode_cards(cards_of(3));
    CHECK(table_in(without_newlines(table_line(table))) == table);
}

TEST_CASE("a card's line begins anew, whatever a shell has printed before") {
    CHECK(card_line(encode_card(card_of(0))).front() == '\n');
}

TEST_CASE("another line is none of these") {
    for (const char* const line : {"", "stagecast-key", "Last login: today", "{\"rank\":1}"}) {
        CHECK_FALSE(key_in(line));
        CHECK_FALSE(sealed_key_in(line));
        CHECK_FALSE(card_in(line));
        CHECK_FALSE(table_in(line));
    }
    CHECK_FALSE(card_in(" stagecast-card 00"));
    CHECK_FALSE(key_in("stagecast-key " + std::string(63, 'a')));
    CHECK_FALSE(key_in("stagecast-key " + std::string(64, 'x')));
    CHECK_FALSE(key_in("stagecast-key " + std::string(66, 'a')));
}

TEST_CASE("a card that is not hexadecimal or too long has no bytes") {
    CHECK(card_in("stagecast-card 0")->empty());
    CHECK(card_in("stagecast-card 0x")->empty());
    CHECK(card_in("stagecast-card 00\r")->empty());
    CHECK(card_in("stagecast-card " + std::string(2 * kMaxBusinessCardBytes, '0'))->size() ==
          kMaxBusinessCardBytes);
    CHECK(
        card_in("stagecast-card " + std::string(2 * kMaxBusinessCardBytes + 2, '0'))->empty());
}

}  // namespace
}  // namespace stage
