#include "transport/core/feedback/done_reporter.h"

#include "tests/unit/core/parts.h"

#include <catch2/catch.hpp>

using namespace stage;
using namespace stage::core;
using namespace stage::core::test;

namespace {

wire::Done done_of(const std::vector<unsigned>& ranks) {
    wire::Done body;
    for (const unsigned each : ranks) {
        body.ranks.push_back({.first = rank(each), .last = rank(each)});
    }
    return body;
}

/// What the reporter says at its next deadlines, until `until`.
struct Said {
    Instant at;
    Rank to;
    wire::Done body;
};

std::vector<Said> said_until(DoneReporter& reporter, Instant until) {
    std::vector<Said> all;
    ControlQueue out{100};
    while (reporter.deadline() && *reporter.deadline() <= until) {
        const Instant now = *reporter.deadline();
        reporter.poll(now, out);
        for (const Send& send : drained(out)) {
            CHECK(send.type == wire::PacketType::done);
            all.push_back({now, send.to.peer, *wire::read_done(send.body)});
        }
        REQUIRE(reporter.deadline() != now);
    }
    return all;
}

}  // namespace

TEST_CASE("every member's ancestors lead to the source, whichever rank it has") {
    for (const unsigned members : {2U, 3U, 9U, 10U, 64U, 1000U}) {
        for (const unsigned source : {0U, 1U, members - 1U}) {
            const CompletionTree tree{.members = members, .source = rank(source), .degree = 8};
            unsigned children = 0;
            for (unsigned each = 0; each < members; ++each) {
                CHECK(tree.at(tree.place(rank(each))) == rank(each));
                if (each == source) {
                    continue;
                }
                const Rank parent = tree.ancestor(rank(each), 0);
                CHECK(tree.has_children(parent));
                CHECK(tree.place(parent) < tree.place(rank(each)));
                CHECK(tree.ancestor(rank(each), 20) == rank(source));
                CHECK(tree.ancestor(rank(each), 1) ==
                      (parent == rank(source) ? parent : tree.ancestor(parent, 0)));
                children += parent == rank(source) ? 1U : 0U;
            }
            CHECK(children == std::min(members - 1U, 8U));
        }
    }
}

TEST_CASE(
    "a member that holds the object repeats DONE until it is acknowledged, then now and then") {
    DoneReporter reporter{config_of(1, 4), {}};
    CHECK_FALSE(reporter.deadline());
    reporter.on_held(kStart);
    const auto first = said_until(reporter, kStart + milliseconds{50});
    REQUIRE(first.size() == 2);
    CHECK(first[0].at == kStart);
    CHECK(first[0].to == rank(0));
    CHECK(first[0].body.ranks == done_of({1}).ranks);
    CHECK(first[1].at == kStart + milliseconds{20});
    reporter.on_ack(kStart + milliseconds{51}, rank(0), done_of({1}));
    CHECK(*reporter.deadline() == kStart + milliseconds{301});
}

TEST_CASE("an inner member reports to its parent who is done below it, several in one DONE") {
    DoneReporter reporter{config_of(1, 100), {}};
    reporter.on_done(kStart, done_of({9}));
    reporter.on_done(kStart, done_of({10, 11}));
    const auto first = said_until(reporter, kStart);
    REQUIRE(first.size() == 1);
    CHECK(first[0].body.ranks ==
          std::vector<wire::RankRun>{{.first = rank(9), .last = rank(11)}});
    reporter.on_ack(kStart + milliseconds{1}, rank(0), first[0].body);
    reporter.on_done(kStart + milliseconds{1}, done_of({12}));
    reporter.on_done(kStart + milliseconds{2}, done_of({13}));
    const auto second = said_until(reporter, kStart + milliseconds{10});
    REQUIRE(second.size() == 1);
    CHECK(second[0].at == kStart + milliseconds{10});
    CHECK(second[0].body.ranks ==
          std::vector<wire::RankRun>{{.first = rank(12), .last = rank(13)}});
}

TEST_CASE("a silent parent is passed over, and the next ancestor gets everything") {
    // Place 73 of 100: its parent is 9, then 1, then the source.
    DoneReporter reporter{config_of(73, 100), {}};
    reporter.on_held(kStart);
    std::vector<Rank> asked;
    for (const Said& said : said_until(reporter, kStart + seconds{3})) {
        CHECK(said.body.ranks == done_of({73}).ranks);
        if (asked.empty() || asked.back() != said.to) {
            asked.push_back(said.to);
        }
    }
    CHECK(asked == std::vector<Rank>{rank(9), rank(1), rank(0)});
}

// Each of four children's news counted as a try: a live parent was passed over after 40 ms.
TEST_CASE("news is no try: a parent has as long to answer however much is sent") {
    DoneReporter reporter{config_of(9, 5000), {}};
    for (unsigned i = 0; i < 40; ++i) {
        const Instant now = kStart + milliseconds{10} * i;
        reporter.on_done(now, done_of({100 + 2 * i}));
        for (const Said& said : said_until(reporter, now)) {
            CAPTURE(i);
            CHECK(said.to == (now < kStart + milliseconds{300} ? rank(1) : rank(0)));
        }
    }
    CHECK(reporter.known().count() == 40);
    reporter.on_ack(kStart + milliseconds{400}, rank(0), done_of({100}));
    const auto next = said_until(reporter, kStart + milliseconds{410});
    REQUIRE(next.size() == 1);
    CHECK(next[0].to == rank(0));
    CHECK(next[0].body.ranks.size() == 39);
}

TEST_CASE("a parent that dies after it confirmed is noticed") {
    DoneReporter reporter{config_of(73, 100), {}};
    reporter.on_held(kStart);
    static_cast<void>(said_until(reporter, kStart));
    reporter.on_ack(kStart, rank(9), done_of({73}));
    const auto later = said_until(reporter, kStart + seconds{2});
    REQUIRE_FALSE(later.empty());
    CHECK(later.front().to == rank(9));
    CHECK(later.back().to == rank(0));
}

TEST_CASE("another's acknowledgement is none") {
    DoneReporter reporter{config_of(73, 100), {}};
    reporter.on_held(kStart);
    static_cast<void>(said_until(reporter, kStart));
    reporter.on_ack(kStart, rank(2), done_of({73}));
    CHECK(*reporter.deadline() == kStart + milliseconds{20});
}

TEST_CASE("a set too scattered for one packet is sent in several") {
    DoneReporter reporter{config_of(1, 2000), {}};
    wire::Done odd;
    for (unsigned each = 1; each < 1001; each += 2) {
        odd.ranks.push_back({.first = rank(each), .last = rank(each)});
        if (odd.ranks.size() == 250) {
            reporter.on_done(kStart, odd);
            odd.ranks.clear();
        }
    }
    RankSet heard{2000};
    Instant now = kStart;
    for (int i = 0; i < 5 && !heard.covers(reporter.known()); ++i) {
        for (const Said& said : said_until(reporter, now)) {
            heard.add(said.body.ranks);
            reporter.on_ack(now, said.to, said.body);
        }
        now += milliseconds{11};
    }
    CHECK(heard.count() == 500);
}
