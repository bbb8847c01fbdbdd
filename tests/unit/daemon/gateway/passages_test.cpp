#include "stager/daemon/gateway/passages.h"

#include "tests/unit/daemon/gateway/gateway_world.h"

using namespace stage;

namespace {

/// It accepts pushes of cluster b.
struct PassageWorld : GatewayWorld {
    PassageWorld() {
        world.config.accept_from = {"b"};
        passages.emplace(*world.services, stages);
        on_first = [this](const TreeMessage& message, std::unique_ptr<DrivenLink> link) {
            passages->on_passage(std::get<PassageMessage>(message), std::move(link));
        };
    }

    std::string refusal_of(const PassageMessage& passage) {
        const auto all = heard({passage});
        REQUIRE(all.size() == 1);
        const auto* answer = std::get_if<ExaminedMessage>(&all.front());
        REQUIRE(answer != nullptr);
        return answer->sentence;
    }

    std::optional<Passages> passages;
};

PassageMessage passage_of(std::uint32_t blocks, std::uint64_t bytes) {
    return {.specs = "1;wd,/data/x,/images/x",
            .manifest = {},
            .nodes = "n[1-2]",
            .blocks = blocks,
            .object_bytes = bytes};
}

}  // namespace

TEST_CASE("a gateway refuses what it does not accept, before it makes a file", "[root]") {
    if (!is_root()) {
        return;
    }
    PassageWorld one;
    SECTION("from another cluster") {
        one.world.config.accept_from = {"c"};
        CHECK_THAT(one.refusal_of(passage_of(2, 1000)),
                   Catch::Contains("AcceptFrom in its stagecast.conf does not name cluster b"));
    }
    SECTION("while it is switched off") {
        one.world.config.enabled = false;
        CHECK_THAT(one.refusal_of(passage_of(2, 1000)), Catch::Contains("Enabled=no"));
    }
    SECTION("beyond MaxBytes") {
        one.world.config.max_bytes = 999;
        CHECK_THAT(one.refusal_of(passage_of(2, 1000)), Catch::Contains("MaxBytes"));
    }
    SECTION("an object that there can't be") {
        CHECK_THAT(one.refusal_of(passage_of(10, 9)), Catch::Contains("no object has"));
    }
    SECTION("where its file can't be made") {
        one.world.config.stage_root = "/nonexistent";
        CHECK_THAT(one.refusal_of(passage_of(2, 1000)),
                   Catch::Contains("/nonexistent for what comes from another cluster"));
    }
    CHECK(one.stages.begun == 0);
}
