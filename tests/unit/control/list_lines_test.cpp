// Tests that lists of all editors are split into lines.
#include "stager/spec/list_lines.h"

#include <catch2/catch.hpp>

#include <string>

using namespace stage;

namespace {

std::vector<std::string> texts(std::string_view text) {
    std::vector<std::string> all;
    for (const ListLine& line : lines_in(text)) {
        all.push_back(std::to_string(line.number) + ':' + std::string{line.text});
    }
    return all;
}

}  // namespace

TEST_CASE("a line ends as on any system, and its outer blanks are trimmed") {
    using Lines = std::vector<std::string>;
    CHECK(texts("one\ntwo") == Lines{"1:one", "2:two"});
    CHECK(texts("one\r\ntwo\r\n") == Lines{"1:one", "2:two"});
    CHECK(texts("\xef\xbb\xbf# x\n\n  one\t \n") == Lines{"1:# x", "3:one"});
    CHECK(texts("a b\nc\rd\n") == Lines{"1:a b", "2:c\rd"});
    CHECK(texts("").empty());
    CHECK(texts(" \r\n\t\n\xef\xbb\xbf").size() == 1);  // A mark anywhere else is a name.
}

TEST_CASE("a name with blanks at its ends can be found") {
    CHECK(lines_in(" a \r\n").at(0).whole == " a \r");
}
