#include "stager/daemon/gateway/tickets.h"

#include "stager/daemon/gateway/exports.h"
#include "stager/daemon/gateway/ticket_code.h"
#include "stager/daemon/legs/import.h"
#include "stager/spec/spec_list.h"
#include "tests/unit/root.h"
#include "tests/unit/scratch.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <array>
#include <nlohmann/json.hpp>

using namespace stage;

namespace {

constexpr std::uint64_t kNow = 1'800'000'000;

/// Cluster a, which knows cluster b.
struct TicketWorld {
    TicketWorld() {
        scratch.write("key", std::string(32, 'k'));
        ::chmod(key_file().c_str(), 0400);
        config.cluster_name = "a";
        config.cluster_keys = {{"b", "/k/b"}};
        config.ticket_key = key_file();
        config.ticket_lifetime = std::chrono::hours{24};
    }
    [[nodiscard]] std::string key_file() const { return scratch.path() + "/key"; }

    Scratch scratch;
    Config config;
    Logger log{[](LogLevel, std::string_view) {}, LogLevel::error};
};

TicketRequest asked() {
    return {
        .cluster = "b", .for_uid = 3001, .lifetime_s = 0, .paths = {"/data/x", "/data/tree"}};
}

std::string ticket_in(const Answer& answer) {
    const auto* report = std::get_if<Report>(&answer);
    REQUIRE(report != nullptr);
    return nlohmann::json::parse(report->json).at("ticket").get<std::string>();
}

std::string why_not(const Answer& answer) {
    const auto* refused = std::get_if<Refused>(&answer);
    REQUIRE(refused != nullptr);
    return refused->sentence;
}

std::string specs_with(const std::vector<StageSpec>& specs, const std::string& cluster) {
    const auto line = serialize(specs, {.cluster = cluster, .ticket = "00"});
    REQUIRE(line);
    return *line;
}

}  // namespace

TEST_CASE("a ticket is good for its user, cluster, uid there, and time", "[root]") {
    if (!is_root()) {
        return;
    }
    const TicketWorld world;
    const Tickets tickets{world.config, world.log};
    const std::string text = ticket_in(tickets.issue(2001, asked(), kNow));
    const auto opened = tickets.open(text, "b", 3001, kNow + 24 * 3600 - 1);
    REQUIRE(opened);
    CHECK(opened->uid == 2001);
    CHECK(opened->paths == asked().paths);
    CHECK_FALSE(tickets.open(text, "c", 3001, kNow));
    CHECK_FALSE(tickets.open(text, "b", 2001, kNow));
    const auto late = tickets.open(text, "b", 3001, kNow + 24 * 3600);
    REQUIRE_FALSE(late);
    CHECK(late.error().blame() == Blame::user);
    CHECK_THAT(late.error().sentence(), Catch::Contains("has expired; get a new one"));
    CHECK_FALSE(tickets.open("", "b", 3001, kNow));
}

TEST_CASE("no bit of a ticket may differ, and another key makes none", "[root]") {
    if (!is_root()) {
        return;
    }
    TicketWorld world;
    const Tickets tickets{world.config, world.log};
    const std::string text = ticket_in(tickets.issue(2001, asked(), kNow));
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = changed[at] == '0' ? '1' : '0';
        CHECK_FALSE(tickets.open(changed, "b", 3001, kNow));
    }
    ::chmod(world.key_file().c_str(), 0600);
    world.scratch.write("key", std::string(32, 'l'));
    ::chmod(world.key_file().c_str(), 0400);
    const Tickets others{world.config, world.log};
    const auto refused = others.open(text, "b", 3001, kNow);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().sentence(), Catch::Contains("was not issued there"));
}

TEST_CASE("a request that gets no ticket is answered with the reason", "[root]") {
    if (!is_root()) {
        return;
    }
    TicketWorld world;
    const Tickets tickets{world.config, world.log};
    CHECK_THAT(why_not(tickets.issue(0, asked(), kNow)), Catch::Contains("root's files"));
    TicketRequest request = asked();
    request.for_uid = 0;
    CHECK_THAT(why_not(tickets.issue(2001, request, kNow)), Catch::Contains("root has no"));
    request = asked();
    request.cluster = "c";
    CHECK_THAT(why_not(tickets.issue(2001, request, kNow)), Catch::Contains("no cluster c"));
    request = asked();
    request.paths = {"/data/../x"};
    CHECK_THAT(why_not(tickets.issue(2001, request, kNow)), Catch::Contains("absolute"));
    request = asked();
    request.lifetime_s = 24 * 3600 + 1;
    CHECK_THAT(why_not(tickets.issue(2001, request, kNow)), Catch::Contains("at most 86400 s"));
    request = asked();
    request.paths.assign(kMaxSpecs, '/' + std::string(120, 'x'));
    CHECK_THAT(why_not(tickets.issue(2001, request, kNow)), Catch::Contains("too long"));
    ::chmod(world.key_file().c_str(), 0444);
    const Tickets none{world.config, world.log};
    CHECK_THAT(why_not(none.issue(2001, asked(), kNow)), Catch::Contains("TicketKey"));
}

TEST_CASE("only what the ticket covers is sent, from the cluster that is named") {
    const ReadTicket ticket{.uid = 2001,
                            .cluster = "b",
                            .for_uid = 3001,
                            .expires = kNow,
                            .paths = {"/data/x", "/data/tree"}};
    const auto objection = [&](StageSpec spec, const std::string& cluster) {
        spec.destination = spec.is_list || !spec.destination.empty() ? spec.destination : "f0";
        const auto why = objection_to_import(specs_with({spec}, cluster), ticket, "a");
        return why ? why->sentence() : std::string{};
    };
    CHECK(objection({.source = "/data/x"}, "a").empty());
    CHECK(objection({.source = "/data/tree/sub/y"}, "a").empty());
    CHECK_THAT(objection({.source = "/data/x"}, "c"), Catch::Contains("this is cluster a"));
    CHECK_THAT(objection({.source = "/data/y"}, "a"), Catch::Contains("not for /data/y"));
    CHECK_THAT(objection({.source = "/data/tree/../y"}, "a"), Catch::Contains("is not sent"));
    CHECK_THAT(objection({.source = "/data/x", .is_list = true}, "a"),
               Catch::Contains("is not sent"));
    CHECK_THAT(objection({.source = "/data/x", .is_with_libraries = true}, "a"),
               Catch::Contains("is not sent"));
    CHECK_THAT(objection({.source = "/data/x", .destination = "/etc/x"}, "a"),
               Catch::Contains("is not sent"));
    CHECK_THAT(objection({.source = "/data/tree/%j"}, "a"), Catch::Contains("is not sent"));
    CHECK(objection_to_import("damaged", ticket, "a"));
}

TEST_CASE("a leg has a job's files without their destinations, in their order") {
    const std::vector<StageSpec> specs{
        {.source = "/data/x",
         .destination = "/scratch/x",
         .existing = Existing::overwrite,
         .is_optional = true,
         .is_temporary = true},
        {.source = "/data/tree", .destination = "t", .is_following = true, .excludes = {"*.o"}},
        {.source = "/data/tree", .destination = "u"}};
    const auto leg = specs_of_leg(specs_with(specs, "a"));
    REQUIRE(leg);
    CHECK(options_in(*leg) == StageOptions{.cluster = "a", .ticket = "00"});
    const auto parsed = parse_serialized(*leg);
    REQUIRE(parsed);
    REQUIRE(parsed->size() == 3);
    CHECK(parsed->at(0) ==
          StageSpec{.source = "/data/x", .destination = "f0", .is_optional = true});
    CHECK(parsed->at(1) == StageSpec{.source = "/data/tree",
                                     .destination = "f1",
                                     .is_following = true,
                                     .excludes = {"*.o"}});
    CHECK(parsed->at(2).source == "/data/tree");
    CHECK_FALSE(specs_of_leg(specs_with({{.source = "/list", .is_list = true}}, "a")));
    CHECK_FALSE(specs_of_leg(specs_with({{.source = "/p", .is_with_libraries = true}}, "a")));
}
