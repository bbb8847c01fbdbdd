#include "stager/daemon/gateway/exports.h"

#include "stager/spec/spec_list.h"
#include "tests/unit/daemon/gateway/gateway_world.h"

#include <sys/stat.h>

#include <array>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace stage;

namespace {

/// With a key for tickets.
struct ExportWorld : GatewayWorld {
    ExportWorld() {
        const std::string key = world.scratch.path("key");
        std::ofstream{key} << std::string(32, 'k');
        ::chmod(key.c_str(), 0400);
        world.config.ticket_key = key;
        world.config.ticket_lifetime = std::chrono::hours{1};
        tickets.emplace(world.config, log);
        exports.emplace(*world.services, stages, *tickets);
        on_first = [this](const TreeMessage& message, std::unique_ptr<DrivenLink> link) {
            exports->on_import(std::get<ImportMessage>(message), std::move(link));
        };
    }

    std::string specs_with_ticket(const std::string& path) {
        const auto answer = tickets->issue(
            2001,
            {.cluster = "b", .for_uid = 3001, .lifetime_s = 0, .paths = {"/data"}},
            static_cast<std::uint64_t>(::time(nullptr)));
        const auto* report = std::get_if<Report>(&answer);
        REQUIRE(report != nullptr);
        const StageSpec spec{.source = path, .destination = "f0"};
        const auto line = serialize(
            std::array{spec},
            {.cluster = "a", .ticket = nlohmann::json::parse(report->json).at("ticket")});
        REQUIRE(line);
        return *line;
    }

    std::optional<Tickets> tickets;
    std::optional<Exports> exports;
};

const ExportMessage& refusal_in(const std::vector<TreeMessage>& heard) {
    REQUIRE(heard.size() == 1);
    const auto* answer = std::get_if<ExportMessage>(&heard.front());
    REQUIRE(answer != nullptr);
    return *answer;
}

}  // namespace

TEST_CASE("an import without a good ticket is refused with the reason", "[root]") {
    if (!is_root()) {
        return;
    }
    ExportWorld one;
    ImportMessage import{.specs = "1,fa,p;-,/data/x,f0", .for_uid = 3001};
    SECTION("none") {
        const auto heard = one.heard({import});
        CHECK_THAT(refusal_in(heard).sentence, Catch::Contains("the job has no ticket"));
        CHECK(refusal_in(heard).blame == Blame::user);
    }
    SECTION("another user's") {
        import.specs = one.specs_with_ticket("/data/x");
        import.for_uid = 3002;
        CHECK_THAT(refusal_in(one.heard({import})).sentence,
                   Catch::Contains("the ticket is for user 3001 of cluster b"));
    }
    SECTION("for another path") {
        import.specs = one.specs_with_ticket("/other/x");
        CHECK_THAT(refusal_in(one.heard({import})).sentence,
                   Catch::Contains("the ticket is not for /other/x"));
    }
    SECTION("staging is switched off") {
        one.world.config.enabled = false;
        CHECK_THAT(refusal_in(one.heard({import})).sentence, Catch::Contains("Enabled=no"));
    }
    CHECK(one.stages.begun == 0);
}

TEST_CASE("a gateway that can't look at the files says so", "[root]") {
    if (!is_root()) {
        return;
    }
    ExportWorld one;
    const ImportMessage import{.specs = one.specs_with_ticket("/data/x"), .for_uid = 3001};
    CHECK_FALSE(refusal_in(one.heard({import})).sentence.empty());
    CHECK(one.stages.begun == 0);
}

TEST_CASE("a consent to nothing ends an import, and no leg begins", "[root]") {
    if (!is_root()) {
        return;
    }
    ExportWorld one;
    const ImportMessage import{.specs = one.specs_with_ticket("/data/x"), .for_uid = 3001};
    for (const TreeMessage& said :
         {TreeMessage{ExaminedMessage{}}, TreeMessage{PulseMessage{}}}) {
        CHECK(one.heard({import, said}).size() <= 1);
        CHECK(one.stages.begun == 0);
    }
}
