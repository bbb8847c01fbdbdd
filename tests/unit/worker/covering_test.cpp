// Tests that many directories are reduced to a few above them.
#include "stager/worker/requests/covering.h"

#include <catch2/catch.hpp>

namespace stage {

using Names = std::vector<std::string>;

TEST_CASE("a few directories stay as they are") {
    CHECK(covering({"/tmp/a", "/tmp/b/c"}, 2, 100) == Names{"/tmp/a", "/tmp/b/c"});
    CHECK(covering({}, 2, 100).empty());
}

TEST_CASE("if there are too many, the deepest are replaced by their parents") {
    CHECK(covering({"/s/1", "/tmp/a/1", "/tmp/a/2", "/tmp/b/3"}, 3, 100) ==
          Names{"/s/1", "/tmp/a", "/tmp/b"});
    CHECK(covering({"/s/1", "/tmp/a/1", "/tmp/a/2", "/tmp/b/3"}, 2, 100) ==
          Names{"/s", "/tmp"});
    CHECK(covering({"/s/1", "/tmp/a/1", "/tmp/a/2", "/tmp/b/3"}, 1, 100) == Names{"/"});
}

TEST_CASE("the same holds if they are too long") {
    CHECK(covering({"/tmp/" + std::string(90, 'x'), "/s"}, 5, 50) == Names{"/s", "/tmp"});
}

}  // namespace stage
