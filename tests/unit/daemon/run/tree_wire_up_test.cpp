// Tests a wire-up whose cards go over the worker's socket and the control tree.
#include "stager/daemon/run/tree_wire_up.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

class CountedOwner final : public WireUpOwner {
  public:
    void on_prepared(std::vector<std::string> environment) override {
        CHECK(environment.empty());
        ++prepared;
    }
    void on_part(Collective kind, std::uint32_t, std::vector<std::byte> bytes) override {
        CHECK(kind == Collective::cards);
        cards.push_back(std::move(bytes));
    }
    void on_word(const ToWorker& message) override { words.push_back(message); }
    void on_wired() override {}
    void on_unavailable(const std::string&) override {}
    void on_lost(const std::string&) override {}

    int prepared = 0;
    std::vector<std::vector<std::byte>> cards;
    std::vector<ToWorker> words;
};

}  // namespace

TEST_CASE("the worker starts at once, gives one card, and gets the table alone") {
    CountedOwner owner;
    TreeWireUp wire_up{owner};
    wire_up.begin();
    CHECK(owner.prepared == 1);
    wire_up.on_card({std::byte{1}});
    wire_up.on_card({std::byte{2}});
    CHECK(owner.cards == std::vector<std::vector<std::byte>>{{std::byte{1}}});
    wire_up.result(Collective::fence, 0, {std::byte{3}});
    CHECK(owner.words.empty());
    wire_up.result(Collective::cards, 0, {std::byte{4}});
    REQUIRE(owner.words.size() == 1);
    CHECK(std::get<WorkerCards>(owner.words.front()).table == std::vector{std::byte{4}});
    CHECK_FALSE(wire_up.can_be_lost());
}

}  // namespace stage
