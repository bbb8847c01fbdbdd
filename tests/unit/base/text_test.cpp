// Tests the lists that texts for people have.
#include "transport/base/text.h"

#include <catch2/catch.hpp>

#include <array>
#include <string>
#include <vector>

namespace stage {

TEST_CASE("items are joined with a separator between them") {
    CHECK(joined(std::vector<std::string>{}, ", ").empty());
    CHECK(joined(std::vector<std::string>{"a"}, ", ") == "a");
    CHECK(joined(std::array<std::string_view, 3>{"a", "", "b"}, ", ") == "a, , b");
    CHECK(joined(std::vector<int>{1, 2}, "-", [](int one) { return std::to_string(one); }) ==
          "1-2");
}

}  // namespace stage
