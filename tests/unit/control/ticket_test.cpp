#include "stager/spec/ticket.h"

#include "stager/spec/spec_list.h"

#include <catch2/catch.hpp>

#include <array>

using namespace stage;

namespace {

ReadTicket one() {
    return {.uid = 2001,
            .cluster = "b",
            .for_uid = 3001,
            .expires = 1'800'000'000,
            .paths = {"/data/x.h5", "/data/tree"}};
}

std::string text_of(const ReadTicket& ticket) {
    return ticket_text(body_of(ticket), std::vector<std::byte>(kTicketCodeBytes));
}

}  // namespace

TEST_CASE("a ticket can be read by all, and its code is apart") {
    const auto parsed = parse_ticket(text_of(one()));
    REQUIRE(parsed);
    CHECK(parsed->ticket == one());
    CHECK(parsed->body == body_of(one()));
    CHECK(parsed->code.size() == kTicketCodeBytes);
}

TEST_CASE("a ticket covers its paths and what is below them, and no neighbour") {
    const ReadTicket ticket = one();
    CHECK(covers(ticket, "/data/x.h5"));
    CHECK(covers(ticket, "/data/tree"));
    CHECK(covers(ticket, "/data/tree/a/b"));
    CHECK_FALSE(covers(ticket, "/data/x.h5.old"));
    CHECK_FALSE(covers(ticket, "/data/trees"));
    CHECK_FALSE(covers(ticket, "/data"));
}

TEST_CASE("what is no ticket is refused, whatever it is") {
    const std::string good = text_of(one());
    for (const std::string& text : {std::string{},
                                    std::string{"hello"},
                                    good.substr(1),
                                    good.substr(0, good.size() - 2),
                                    good + "00",
                                    good + "x",
                                    std::string(kMaxTicketText + 2, '0')}) {
        CHECK_FALSE(parse_ticket(text));
    }
    std::string other = good;
    other[1] = '9';
    const auto refused = parse_ticket(other);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().sentence(), Catch::Contains("another release"));
    ReadTicket odd = one();
    odd.paths = {"/data/../x"};
    CHECK_FALSE(parse_ticket(text_of(odd)));
    odd.paths.clear();
    CHECK_FALSE(parse_ticket(text_of(odd)));
    odd = one();
    odd.cluster = "b/c";
    CHECK_FALSE(parse_ticket(text_of(odd)));
}

TEST_CASE("cluster and ticket travel with the specs") {
    const StageSpec spec{.source = "/data/x.h5"};
    const StageOptions options{.cluster = "a", .ticket = text_of(one())};
    const auto line = serialize(std::array{spec}, options);
    REQUIRE(line);
    CHECK(options_in(*line) == options);
    CHECK(parse_serialized(*line));
    CHECK_FALSE(parse_serialized("1,fa/b;-,/data/x,"));
    CHECK_FALSE(parse_serialized("1,f;-,/data/x,"));
    CHECK_FALSE(parse_serialized("1,p" + std::string(kMaxTicketText + 1, '0') + ";-,/data/x,"));
}
