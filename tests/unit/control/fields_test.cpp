// Tests bounded texts, truncated sentences and valid enumerators.
#include "stager/control/fields.h"

#include "stager/control/push_key.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

enum class Choice : std::uint8_t { one = 0, two = 1 };

}  // namespace

TEST_CASE("an encoded text is decoded up to its limit") {
    ByteWriter writer;
    put_text(writer, "abc", 3);
    put_cut(writer, "abcdefghij", 9);
    put_cut(writer, std::string_view{"ab\0cd", 5}, 9);
    put_enum(writer, Choice::two);
    ByteReader reader{writer.view()};
    CHECK(take_text(reader, 3) == "abc");
    CHECK(take_text(reader, 9) == "abc...hij");
    CHECK(take_text(reader, 9) == "ab");
    CHECK(take_enum(reader, Choice::two) == Choice::two);
    CHECK(reader.finished());
    ByteReader again{writer.view()};
    CHECK(take_text(again, 2).empty());
    CHECK_FALSE(again.ok());
}

TEST_CASE("a NUL in a text, and a number without a name, are refused") {
    ByteWriter writer;
    writer.text(std::string_view{"a\0b", 3}).u8(2);
    ByteReader text{writer.view()};
    static_cast<void>(take_text(text, 9));
    CHECK_FALSE(text.ok());
    ByteReader number{writer.view().subspan(writer.size() - 1)};
    CHECK(take_enum(number, Choice::two) == Choice::two);
    CHECK_FALSE(number.ok());
}

TEST_CASE("two pushes have two keys, and no job") {
    const StageKey one = random_push_key();
    const StageKey other = random_push_key();
    CHECK(one.job_id == kPushJob);
    CHECK_FALSE(one == other);
    CHECK(one.step_id < 1U << 31U);
    CHECK(one.restart < 1U << 31U);
}
