// Tests that all names of a directory are returned, and no others.
#include "transport/os/names_in.h"

#include "tests/unit/scratch.h"
#include "transport/os/unique_fd.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

namespace stage {

TEST_CASE("the names in a directory are returned at each call") {
    const Scratch place;
    std::ofstream{place.path() + "/file"} << "x";
    REQUIRE(::mkdir((place.path() + "/.hidden").c_str(), 0700) == 0);
    const int flags = GENERATE(O_PATH, O_RDONLY);
    const UniqueFd directory{::open(place.path().c_str(), flags | O_DIRECTORY | O_CLOEXEC)};
    using Names = std::vector<std::string>;
    for (int i = 0; i < 2; ++i) {
        CHECK_THAT(names_in(directory.get()),
                   Catch::Matchers::UnorderedEquals(Names{"file", ".hidden"}));
    }
    CHECK(names_in(-1).empty());
    const UniqueFd file{::open((place.path() + "/file").c_str(), O_RDONLY | O_CLOEXEC)};
    CHECK(names_in(file.get()).empty());
}

}  // namespace stage
