#include "stager/cli/ticket.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace stage;

namespace {

Result<TicketOptions> parsed_ticket(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) {
        pointers.push_back(word.data());
    }
    return parse_ticket_options(pointers, "/here", 2001);
}

std::string refusal(const std::vector<std::string>& words) {
    const auto options = parsed_ticket(words);
    REQUIRE_FALSE(options);
    return options.error().sentence();
}

}  // namespace

TEST_CASE("a ticket is for files by name, the user's own uid and the site's time") {
    const auto options = parsed_ticket({"-M", "b", "x", "./sub//y/", "/data/./z"});
    REQUIRE(options);
    CHECK(options->request.cluster == "b");
    CHECK(options->request.for_uid == 2001);
    CHECK(options->request.lifetime_s == 0);
    CHECK(options->request.paths ==
          std::vector<std::string>{"/here/x", "/here/sub/y", "/data/z"});
    const auto other = parsed_ticket({"--cluster=b", "--uid=3001", "--lifetime=2h", "/x"});
    REQUIRE(other);
    CHECK(other->request.for_uid == 3001);
    CHECK(other->request.lifetime_s == 7200);
}

TEST_CASE("wrong usage of ticket is named") {
    CHECK_THAT(refusal({"/x"}), Catch::Contains("--cluster="));
    CHECK_THAT(refusal({"-Mb/c", "/x"}), Catch::Contains("--cluster="));
    CHECK_THAT(refusal({"-Mb"}), Catch::Contains("name the files"));
    CHECK_THAT(refusal({"-Mb", "/a/../x"}), Catch::Contains("goes up by '..'"));
    CHECK_THAT(refusal({"-Mb", "/"}), Catch::Contains("no path of a file"));
    CHECK_THAT(refusal({"-Mb", "--uid=alice", "/x"}), Catch::Contains("no user's number"));
    CHECK_THAT(refusal({"-Mb", "--uid=0", "/x"}), Catch::Contains("no user's number"));
    CHECK_THAT(refusal({"-Mb", "--lifetime=soon", "/x"}), Catch::Contains("no time"));
    CHECK_THAT(refusal({"-Mb", '/' + std::string(4096, 'x')}), Catch::Contains("no path"));
}
