// Tests that cards are taken from what a launcher hears of its nodes, and from nothing else.
#include "stager/cli/launch/card_gathering.h"

#include "pmix/launch_channel.h"
#include "tests/unit/pmix/cards.h"

#include <catch2/catch.hpp>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using namespace std::chrono_literals;

const CardGathering::Clock::time_point kBegin{};

/// Members do not know their ranks.
std::string gathered(std::uint16_t member) {
    Card card = card_of(member);
    card.rank = Rank{0};
    return card_line(encode_card(card));
}

std::string with_label(const std::string& label, const std::string& text) {
    return label + ": \n" + label + ": " + text.substr(1);
}

std::string all(std::uint16_t members) {
    return table_line(encode_cards(cards_of(members)));
}

}  // namespace

TEST_CASE("by ssh each command has one member, the source's first") {
    CardGathering gathering{Launcher::ssh, {"", "n1", "n2"}, 9s};
    std::vector<Ended> heard(3);
    heard[0].out = gathered(0);
    heard[2].out = "motd: {welcome}\nprompt> " + gathered(2);
    CHECK_FALSE(gathering.look(heard, kBegin));
    const std::string card = gathered(1);
    heard[1].out = card.substr(0, 30);
    CHECK_FALSE(gathering.look(heard, kBegin + 1s));
    heard[1].out = card;
    CHECK(gathering.look(heard, kBegin + 2s) == all(3));
    CHECK(gathering.why(1).empty());
}

TEST_CASE("a card with the place of another node's is its sender's failure, and no other's") {
    CardGathering gathering{Launcher::ssh, {"", "n1", "n2"}, 9s};
    std::vector<Ended> heard(3);
    heard[0].out = gathered(0);
    heard[1].out = gathered(1);
    CHECK_FALSE(gathering.look(heard, kBegin));
    heard[2].out = gathered(1);
    CHECK(gathering.look(heard, kBegin) == "");
    CHECK_THAT(gathering.why(2), Contains("of another node"));
    CHECK(gathering.why(0).empty());
    CHECK(gathering.why(1).empty());
}

TEST_CASE("by clush lines have their node's name, and this host's source none") {
    CardGathering gathering{Launcher::clush, {"", "n1", "n2"}, 9s};
    std::vector<Ended> heard(2);
    heard[0].out = gathered(0);
    // Not the source's, and of no node at all.
    heard[1].out = gathered(2) + with_label("n9", gathered(2)) + with_label("n2", gathered(2));
    CHECK_FALSE(gathering.look(heard, kBegin));
    heard[1].out += with_label("n1", gathered(1));
    CHECK(gathering.look(heard, kBegin) == all(3));
}

TEST_CASE("by srun a task's node may be known before its card, in another piece of output") {
    CardGathering gathering{Launcher::srun, {"n2", "n0"}, 9s};
    std::vector<Ended> heard(1);
    heard[0].out = "1: stagecast-node n2\n0: stagecast-node n0\n";
    CHECK_FALSE(gathering.look(heard, kBegin));
    heard[0].out += with_label("0", gathered(1)) + with_label("1", gathered(0));
    CHECK(gathering.look(heard, kBegin) == all(2));
}

TEST_CASE("a node's second card counts for nothing") {
    CardGathering gathering{Launcher::ssh, {"", "n1"}, 9s};
    std::vector<Ended> heard(2);
    heard[1].out = gathered(1) + gathered(0);
    CHECK_FALSE(gathering.look(heard, kBegin));
    heard[0].out = gathered(0);
    CHECK(gathering.look(heard, kBegin) == all(2));
}

TEST_CASE("a card that can't be used ends it, and names its node") {
    CardGathering gathering{Launcher::ssh, {"", "n1", "n2"}, 9s};
    std::vector<Ended> heard(3);
    heard[0].out = gathered(0);
    SECTION("too short") {
        heard[2].out = "stagecast-card 01\n";
    }
    SECTION("too long") {
        heard[2].out = "stagecast-card " + std::string(1U << 20U, '0') + '\n';
    }
    SECTION("of a later format") {
        heard[2].out = "stagecast-card ff" + std::string(200, '0') + '\n';
    }
    CHECK(gathering.look(heard, kBegin) == "");
    CHECK_THAT(gathering.why(2), Contains("card is not acceptable"));
    CHECK(gathering.why(0).empty());
    CHECK(gathering.why(1).empty());
}

TEST_CASE("a member that ends without a card ends it at once") {
    std::vector<Ended> heard(2);
    heard[0].out = gathered(0);
    heard[1].is_over = true;
    CardGathering by_ssh{Launcher::ssh, {"", "n1", "n2"}, 9s};
    CHECK_FALSE(by_ssh.look({heard[0], {}, {}}, kBegin));
    CHECK(by_ssh.look({heard[0], heard[1], {}}, kBegin) == "");
    CHECK(by_ssh.why(1) == "ended without sending its business card");
    CHECK(by_ssh.why(2).empty());  // It may have been on its way.
    CardGathering by_clush{Launcher::clush, {"", "n1", "n2"}, 9s};
    CHECK(by_clush.look(heard, kBegin) == "");
    CHECK_FALSE(by_clush.why(2).empty());
    CHECK(by_clush.why(0).empty());
}

TEST_CASE("the time for the cards begins with the first one") {
    CardGathering gathering{Launcher::clush, {"", "n1", "n2"}, 9s};
    std::vector<Ended> heard(2);
    CHECK_FALSE(gathering.look(heard, kBegin));
    heard[1].out = with_label("n2", gathered(2));
    CHECK_FALSE(gathering.look(heard, kBegin + 1h));
    heard[0].out = gathered(0);
    CHECK_FALSE(gathering.look(heard, kBegin + 1h + 8s));
    CHECK(gathering.look(heard, kBegin + 1h + 9s) == "");
    CHECK_THAT(gathering.why(1),
               Contains("no business card within 9 s") && Contains(".bashrc"));
    CHECK(gathering.why(2).empty());
}

}  // namespace stage
