#include "stager/cache/node_leases.h"

#include "stager/cache/lease_server_choice.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace stage;

namespace {

using Words = NodeLeases::Words;

LeasedFile leased_file(unsigned number, std::uint32_t uid = 7) {
    return {.uid = uid,
            .stamp = {static_cast<std::byte>(number), static_cast<std::byte>(number >> 8U)}};
}
NodeLeases::Place node(unsigned number) {
    return {.node = "n" + std::to_string(number),
            .address = "10.0.0." + std::to_string(number)};
}
NodeLeases::Word reads(NodeLeases::Asker asker) {
    return {.to = asker, .holder = {}};
}
NodeLeases::Word fetches(NodeLeases::Asker asker, unsigned from) {
    return {.to = asker, .holder = node(from)};
}

}  // namespace

TEST_CASE("the first node reads, the others fetch, and serve the next ones") {
    NodeLeases leases;
    CHECK(leases.ask(1, node(1), leased_file(1), true) == Words{reads(1)});
    for (const unsigned other : {2U, 3U, 4U, 5U}) {
        CHECK(leases.ask(other, node(other), leased_file(1), true).empty());
    }
    CHECK(leases.ask(6, node(6), leased_file(1, 8), true) ==
          Words{reads(6)});  // Another user's.
    CHECK(leases.held(1) == Words{fetches(2, 1), fetches(3, 1)});
    CHECK(leases.leave(1).empty());
    CHECK(leases.held(2) == Words{fetches(4, 2), fetches(5, 1)});
    CHECK(leases.leave(2).empty());
    for (const NodeLeases::Asker other : {3U, 4U, 5U}) {
        CHECK(leases.held(other).empty());
        CHECK(leases.leave(other).empty());
    }
    // A node that comes later finds it as well.
    CHECK(leases.ask(9, node(9), leased_file(1), true).size() == 1);
    CHECK(leases.files() == 2);
}

TEST_CASE("if the reading node leaves, the next one reads") {
    NodeLeases leases;
    CHECK(leases.ask(1, node(1), leased_file(1), true) == Words{reads(1)});
    CHECK(leases.ask(2, node(2), leased_file(1), true).empty());
    CHECK(leases.ask(3, node(3), leased_file(1), true).empty());
    CHECK(leases.leave(2).empty());
    CHECK(leases.leave(1) == Words{reads(3)});
    CHECK(leases.leave(3).empty());
    CHECK(leases.files() == 0);
}

TEST_CASE("nodes do not wait for reader after reader that cannot share the file") {
    NodeLeases leases;
    CHECK(leases.ask(1, node(1), leased_file(1), true) == Words{reads(1)});
    for (const unsigned other : {2U, 3U, 4U}) {
        CHECK(leases.ask(other, node(other), leased_file(1), true).empty());
    }
    CHECK(leases.leave(1) == Words{reads(2)});
    CHECK(leases.leave(2) == Words{reads(3), reads(4)});
    CHECK(leases.ask(5, node(5), leased_file(1), true) == Words{reads(5)});
    CHECK(leases.held(4).empty());  // It can be kept after all.
    CHECK(leases.ask(6, node(6), leased_file(1), true) == Words{fetches(6, 4)});
    for (const NodeLeases::Asker other : {3U, 4U, 5U, 6U}) {
        CHECK(leases.leave(other).empty());
    }
    CHECK(leases.ask(7, node(4), leased_file(1), true) == Words{reads(7)});
    CHECK(leases.ask(8, node(8), leased_file(1), true).empty());
}

TEST_CASE("a node that finds no leased_file where it was sent is sent elsewhere, or reads") {
    NodeLeases leases;
    CHECK(leases.ask(1, node(1), leased_file(1), true) == Words{reads(1)});
    CHECK(leases.held(1).empty());
    CHECK(leases.ask(2, node(2), leased_file(1), true) == Words{fetches(2, 1)});
    CHECK(leases.held(2).empty());
    CHECK(leases.ask(3, node(3), leased_file(1), true) == Words{fetches(3, 1)});
    CHECK(leases.missed(3) == Words{fetches(3, 2)});
    CHECK(leases.missed(3) == Words{reads(3)});
    CHECK(leases.missed(3).empty());  // It reads.
    CHECK(leases.ask(4, node(4), leased_file(1), true).empty());
    CHECK(leases.held(3) == Words{fetches(4, 3)});
    // A node that held it and asks again has lost it.
    CHECK(leases.ask(5, node(3), leased_file(1), true) == Words{reads(5)});
    CHECK(leases.held(4).empty());
    CHECK(leases.ask(6, node(6), leased_file(1), true) == Words{fetches(6, 4)});
}

TEST_CASE("a node that others wait for never waits for a reader") {
    NodeLeases leases;
    CHECK(leases.ask(1, node(1), leased_file(1), true) == Words{reads(1)});
    CHECK(leases.ask(2, node(2), leased_file(2), true) == Words{reads(2)});
    CHECK(leases.ask(3, node(1), leased_file(2), false) == Words{reads(3)});
    CHECK(leases.ask(4, node(2), leased_file(1), false) == Words{reads(4)});
    CHECK(leases.leave(3).empty());  // It held nothing that others could have.
    CHECK(leases.ask(5, node(5), leased_file(2), true).empty());
    CHECK(leases.held(2) == Words{fetches(5, 2)});
    CHECK(leases.held(4).empty());  // A leased_file that is read twice is cached all the same.
    CHECK(leases.ask(6, node(6), leased_file(1), false) == Words{fetches(6, 2)});
}

TEST_CASE("a lease server's table is limited, and forgets idle files first") {
    NodeLeases leases;
    constexpr NodeLeases::Asker kMore = kLeasedFilesMax + 1;
    for (unsigned number = 0; number < kLeasedFilesMax; ++number) {
        CHECK(leases.ask(number + 1, node(1), leased_file(number), true).size() == 1);
    }
    CHECK(leases.ask(kMore, node(2), leased_file(60'000), true) == Words{reads(kMore)});
    CHECK(leases.files() == kLeasedFilesMax);
    CHECK(leases.held(1).empty());  // File 0 has only a holder now, and is not in use.
    CHECK(leases.leave(1).empty());
    CHECK(leases.ask(kMore, node(2), leased_file(60'001), true) == Words{reads(kMore)});
    CHECK(leases.files() == kLeasedFilesMax);
    CHECK(leases.ask(kMore + 1, node(3), leased_file(60'001), true).empty());  // It is leased.
    CHECK(leases.ask(kMore + 2, node(3), leased_file(0), true) == Words{reads(kMore + 2)});
}

TEST_CASE("all nodes choose the same lease server, in any order of the node list") {
    std::vector<std::string> nodes;
    for (unsigned number = 0; number < 200; ++number) {
        nodes.push_back(node(number).node);
    }
    const std::vector<std::string> servers = draw_lease_servers(nodes);
    REQUIRE(servers.size() == kLeaseServersMax);
    std::ranges::reverse(nodes);
    CHECK(draw_lease_servers(nodes) == servers);
    std::set<std::size_t> drawn;
    for (unsigned number = 0; number < 1000; ++number) {
        drawn.insert(lease_server_of(servers, leased_file(number)));
    }
    CHECK(drawn.size() == kLeaseServersMax);
    // If a lease server leaves, only its own files move.
    std::vector<std::string> fewer{servers.begin(), servers.end() - 1};
    for (unsigned number = 0; number < 1000; ++number) {
        const std::size_t before = lease_server_of(servers, leased_file(number));
        CHECK((before == kLeaseServersMax - 1 ||
               lease_server_of(fewer, leased_file(number)) == before));
    }
}
