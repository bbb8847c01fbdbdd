// Tests that one description writes and reads a message, and bounds what is read.
#include "transport/base/fields.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

enum class Choice : std::uint8_t { one = 0, two = 1 };

struct Whole {
    std::uint16_t number = 0;
    Rank rank{};
    int signed_number = 0;
    bool flag = false;
    Choice choice = Choice::one;
    std::string text{};
    std::string cut{};
    std::vector<std::byte> blob{};
    std::array<std::byte, 2> raw{};
    std::chrono::milliseconds time{0};
    std::vector<std::uint16_t> list{};
    std::vector<std::string> texts{};

    bool operator==(const Whole&) const = default;
};

struct Empty {
    bool operator==(const Empty&) const = default;
};

using Message = std::variant<Empty, Whole>;
constexpr TypeNumbers<Message> kNumbers{7, 3};

Whole some() {
    return {.number = 513,
            .rank = Rank{9},
            .signed_number = -2,
            .flag = true,
            .choice = Choice::two,
            .text = "abc",
            .cut = "abcdefghi",
            .blob = {std::byte{1}},
            .raw = {std::byte{2}, std::byte{3}},
            .time = std::chrono::milliseconds{5},
            .list = {1, 2},
            .texts = {"a", ""}};
}

}  // namespace

void fields(auto& /*on*/, Like<Empty> auto& /*empty*/) {
}

void fields(auto& on, Like<Whole> auto& whole) {
    on.number(whole.number).number(whole.rank).signed_number(whole.signed_number);
    on.flag(whole.flag).choice(whole.choice, Choice::two);
    on.text(whole.text, 3).cut(whole.cut, 9).blob(whole.blob, 1).raw(whole.raw);
    on.time(whole.time);
    on.template list<std::uint8_t>(
        whole.list, 2, [](auto& each, auto& number) { each.number(number); });
    on.texts(whole.texts, 2, 1).require(whole.number > 0);
}

namespace {

std::vector<std::byte> bytes_of(const Message& message) {
    ByteWriter writer;
    put_message(writer, kNumbers, message);
    return writer.take();
}

/// Empty if the reader failed, or left something over.
std::optional<Message> message_of(Bytes bytes) {
    ByteReader reader{bytes};
    auto message = take_message<Message>(reader, kNumbers);
    return reader.finished() ? message : std::nullopt;
}

std::optional<Message> with_byte(std::size_t at, unsigned value) {
    auto bytes = bytes_of(some());
    bytes.at(at) = std::byte(value);
    return message_of(bytes);
}

}  // namespace

TEST_CASE("a message comes back as it was sent, and every shorter one is refused") {
    const auto bytes = bytes_of(some());
    CHECK(message_of(bytes) == Message{some()});
    CHECK(message_of(bytes_of(Empty{})) == Message{Empty{}});
    CHECK(bytes.front() == std::byte{3});
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        CHECK_FALSE(message_of(Bytes{bytes}.first(length)));
    }
}

TEST_CASE("a value outside its field's limits is refused") {
    CHECK_FALSE(with_byte(0, 4));   // An unknown type.
    CHECK_FALSE(with_byte(9, 2));   // A flag that is neither.
    CHECK_FALSE(with_byte(10, 2));  // An enumerator without a name.
    CHECK_FALSE(with_byte(14, 4));  // A text beyond its limit,
    CHECK_FALSE(with_byte(15, 0));  // and one with a NUL.
    auto none = some();
    none.number = 0;
    CHECK_FALSE(message_of(bytes_of(none)));
    auto many = some();
    many.list.push_back(3);
    CHECK_FALSE(message_of(bytes_of(many)));
}

TEST_CASE("a sentence is cut at its limit and at a NUL, not refused") {
    auto whole = some();
    whole.cut = "abcdefghij";
    CHECK(std::get<Whole>(*message_of(bytes_of(whole))).cut == "abc...hij");
    whole.cut = {"ab\0cd", 5};
    CHECK(std::get<Whole>(*message_of(bytes_of(whole))).cut == "ab");
}

}  // namespace stage
