#include "spank/submit/ticket_check.h"
#include "stager/spec/ticket.h"
#include "tests/unit/spank/submit_world.h"

#include <unistd.h>

#include <array>
#include <ctime>

using namespace stage;

namespace {

std::string ticket_for(std::vector<std::string> paths, std::uint32_t uid, std::int64_t left) {
    const ReadTicket ticket{.uid = 2001,
                            .cluster = "here",
                            .for_uid = uid,
                            .expires = static_cast<std::uint64_t>(::time(nullptr) + left),
                            .paths = std::move(paths)};
    return ticket_text(body_of(ticket), std::vector<std::byte>(kTicketCodeBytes));
}

}  // namespace

TEST_CASE("files of another cluster are handed on with the ticket, and not looked for here") {
    const SubmitWorld world;
    world.scratch.write("stagecast.conf", "ClusterName=here\nMaxBytes=1\n");
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    const std::string ticket = ticket_for({"/data"}, ::getuid(), 60);
    side.on_option("cluster://there/data/x:sub/:temp", false);
    side.on_option("cluster://there/data/y", false);
    side.on_ticket(ticket);
    REQUIRE(side.on_options_parsed(host));
    const auto specs = handed(host);
    REQUIRE(specs.size() == 2);
    CHECK(specs[0].source == "/data/x");
    CHECK(specs[0].is_temporary);
    const StageOptions options = options_in(host.handed.at(kHandedName));
    CHECK(options.cluster == "there");
    CHECK(options.ticket == ticket);
}

TEST_CASE("a wrong ticket is refused before submission, and the message says how to get one") {
    const SubmitWorld world;
    world.scratch.write("stagecast.conf", "ClusterName=here\n");
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    const auto refused = [&](const std::string& ticket) {
        side.on_option("cluster://there/data/x", false);
        side.on_ticket(ticket);
        return refusal(side, host);
    };
    const std::string how =
        "run 'stagecast ticket --cluster=here --uid=" + std::to_string(::getuid()) +
        " /data/x' in cluster there";
    CHECK_THAT(refused(""), Catch::Contains("need a ticket") && Catch::Contains(how));
    CHECK_THAT(refused("beef"), Catch::Contains("damaged"));
    CHECK_THAT(refused(ticket_for({"/data/y"}, ::getuid(), 60)),
               Catch::Contains("not for /data/x") && Catch::Contains(how));
    CHECK_THAT(refused(ticket_for({"/data"}, ::getuid() + 1, 60)),
               Catch::Contains("not for you here"));
    CHECK_THAT(refused(ticket_for({"/data"}, ::getuid(), -1)), Catch::Contains("has expired"));
    world.scratch.write("stagecast.conf", "ClusterName=elsewhere\n");
    CHECK_THAT(refused(ticket_for({"/data"}, ::getuid(), 60)),
               Catch::Contains("not for you here"));
}

TEST_CASE("the files of a job lie in one cluster") {
    const SubmitWorld world;
    FakeHost host = world.host(Context::allocator);
    SubmitSide side = world.side();
    side.on_option("a", false);
    side.on_option("cluster://there/data/x", false);
    CHECK_THAT(
        refusal(side, host),
        Catch::Contains("lie in different clusters") && Catch::Contains("srun --stage-file"));
}
