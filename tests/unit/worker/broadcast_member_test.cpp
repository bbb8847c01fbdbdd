// Does a member take its rank and the source's offer from the table of cards, and refuse one
// that lacks it?
#include "stager/worker/broadcast/broadcast_member.h"

#include "transport/fabrics/fabrics.h"

#include <catch2/catch.hpp>

#include <functional>

namespace stage {
namespace {

std::vector<Endpoint> endpoints_on_loopback() {
    const EndpointPlan plan{
        .rails = {{.name = "lo", .address = *Address::parse("127.0.0.1", 0)}},
        .ports = {.lent = {}, .open_to_all = {{0, 0}}}};
    std::vector<Endpoint> endpoints;
    for (const Fabric* fabric : fabrics_for(Transport::automatic)) {
        auto endpoint = fabric->open(plan);
        REQUIRE(endpoint);
        endpoints.push_back(*std::move(endpoint));
    }
    return endpoints;
}

/// Answers with the table that the test makes of the member's card.
class MadeUpDirectory final : public Directory {
  public:
    explicit MadeUpDirectory(std::function<CardTable(Card)> table) : table_{std::move(table)} {}

    Status publish(const Card& own) override {
        own_ = own;
        return {};
    }
    Result<CardTable> collect(const WaitLimit& /*limit*/) override { return table_(own_); }

  private:
    std::function<CardTable(Card)> table_;
    Card own_;
};

MemberPlan receiver_of_two() {
    return {
        .own = {},
        .members = 2,
        .source = Rank{0},
        .group = [](std::uint64_t /*draw*/,
                    std::size_t /*rails*/) { return *Address::parse("239.77.203.9", 41'995); },
        .longest = std::chrono::seconds{1}};
}

/// The card of the source, which has the other rank.
Card source_card(std::vector<Endpoint>& endpoints) {
    auto card = make_card(Rank{0}, "n0", endpoints);
    REQUIRE(card);
    card->offer = {std::byte{1}, std::byte{2}};
    return *std::move(card);
}

TEST_CASE(
    "a member without a rank takes that of its card in the table, and the source's offer") {
    auto interrupts = Interrupts::make();
    REQUIRE(interrupts);
    std::vector<Endpoint> others = endpoints_on_loopback();
    MadeUpDirectory directory{[&](Card own) {
        own.rank = Rank{1};
        return CardTable{source_card(others), own};
    }};
    BroadcastMember member{receiver_of_two(), endpoints_on_loopback()};
    REQUIRE(member.meet(&directory, {}, *interrupts));
    CHECK(member.own() == Rank{1});
    CHECK(member.offer().size() == 2);
    CHECK(member.carrier().has_multicast);
    CHECK(member.names_of({Rank{0}}) == std::vector<std::string>{"n0"});
    CHECK(member.choice({}).way == TransportChoice::Way::multicast);
    CHECK(member.choice({Rank{0}}).way == TransportChoice::Way::relay);
}

TEST_CASE("a table that has the member at another rank, or not at all, is refused") {
    auto interrupts = Interrupts::make();
    REQUIRE(interrupts);
    std::vector<Endpoint> others = endpoints_on_loopback();
    const auto meets = [&](MemberPlan plan, std::function<CardTable(Card)> table) {
        MadeUpDirectory directory{std::move(table)};
        BroadcastMember member{std::move(plan), endpoints_on_loopback()};
        const Status met = member.meet(&directory, {}, *interrupts);
        return met ? std::string{} : met.error().sentence();
    };
    const Card first = source_card(others);
    CHECK_THAT(meets(receiver_of_two(),
                     [&](Card own) {
                         Card other = own;
                         other.rank = Rank{1};
                         other.incarnation = {};
                         return CardTable{first, other};
                     }),
               Catch::Contains("lacks this member"));
    CHECK_THAT(meets(receiver_of_two(),
                     [&](Card own) {
                         Card second = first;
                         second.rank = Rank{1};
                         return CardTable{own, second};
                     }),
               Catch::Contains("lacks this member at its rank"));
    MemberPlan plan = receiver_of_two();
    plan.own = Rank{1};
    plan.members = 3;
    CHECK_THAT(meets(plan,
                     [&](const Card& own) {
                         return CardTable{first, own};
                     }),
               Catch::Contains("do not match the group's members"));
}

TEST_CASE("a member of a group of one needs no directory") {
    auto interrupts = Interrupts::make();
    REQUIRE(interrupts);
    BroadcastMember member{{.own = Rank{0}, .is_source = true}, {}};
    REQUIRE(member.meet(nullptr, {}, *interrupts));
    CHECK(member.own() == Rank{0});
    CHECK(member.cards().empty());
    CHECK(member.offer().empty());
}

}  // namespace
}  // namespace stage
