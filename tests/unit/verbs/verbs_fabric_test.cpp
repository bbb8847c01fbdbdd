// Tests when a group uses RDMA, by a fake device.
#include "transport/verbs/verbs_fabric.h"

#include "tests/unit/verbs/fake_device.h"
#include "transport/verbs/rdma_core.h"
#include "transport/verbs/verbs_place.h"

#include <catch2/catch.hpp>

namespace stage::verbs {
namespace {

using test::FakeNet;
using test::FakePortPlan;

EndpointPlan plan(bool has_group) {
    EndpointPlan made{.rails = {{.name = "ib0", .address = *Address::parse("10.0.0.3", 0)}},
                      .ports = {}};
    if (has_group) {
        made.group = GroupPlan{.first = *Address::parse("239.1.2.3", 6840)};
    }
    return made;
}

/// Opens ports of one network.
struct Host {
    FakeNet net;
    FakePortPlan port{.facts = test::facts_of_host(3)};
    VerbsFabric fabric{[this](const PortPlan&) -> Result<std::unique_ptr<DevicePort>> {
        return open_fake(net, port);
    }};
};

VerbsPlace good_place() {
    return {.why_not = {},
            .peer = {.gid = test::facts_of_host(7).gid, .queue_pair = 18, .qkey = 9},
            .mtu = 2048};
}

std::string objection_to(const VerbsPlace& one, const VerbsPlace& other) {
    const VerbsFabric fabric{open_device_port};
    const auto objection = fabric.objection({encode_place(one), encode_place(other)});
    return objection ? std::to_string(objection->member.value()) + ": " + objection->why : "";
}

}  // namespace

TEST_CASE("a member with a device joins its group before its place is known") {
    Host host;
    auto endpoint = host.fabric.open(plan(true));
    REQUIRE(endpoint);
    CHECK(endpoint->descriptors.empty());
    CHECK(endpoint->opened == nullptr);
    const auto own = host.fabric.place(*endpoint);
    REQUIRE(own);
    CHECK(host.net.joins == 1);
    CHECK(own->bytes.size() <= kMaxPlaceBytes);
    CHECK(to_string(own->host) == "10.0.0.3");
    const auto place = decode_place(own->bytes);
    REQUIRE(place);
    CHECK(place->mtu == 4096);
    CHECK(place->peer.gid == host.port.facts.gid);
    CHECK_FALSE(host.fabric.objection({own->bytes, own->bytes}));

    auto joined = host.fabric.join(*std::move(endpoint),
                                   {.own = Rank{0},
                                    .source = Rank{0},
                                    .places = {own->bytes, encode_place(good_place())},
                                    .group = [](std::size_t) { return Address{}; },
                                    .data_ports = {}});
    REQUIRE(joined);
    CHECK(joined->carrier.has_multicast);
    CHECK(joined->carrier.packet_bytes == 2048);  // The other one's.
    CHECK(joined->driver->name() == "verbs");
    CHECK(host.net.joins == 1);
    joined->driver.reset();
    CHECK(host.net.joins == 0);
}

TEST_CASE("several flows or interfaces are left to UDP") {
    Host host;
    EndpointPlan several = plan(true);
    several.group->flows = 2;
    auto endpoint = host.fabric.open(several);
    REQUIRE(endpoint);
    const auto own = host.fabric.place(*endpoint);
    REQUIRE(own);
    CHECK_THAT(decode_place(own->bytes)->why_not, Catch::Contains("for UDP only"));
    CHECK(host.net.pairs.empty());
}

TEST_CASE("a group that is drawn when the members meet is joined then") {
    Host host;
    auto endpoint = host.fabric.open(plan(false));
    REQUIRE(endpoint);
    const auto own = host.fabric.place(*endpoint);
    REQUIRE(own);
    CHECK(host.net.joins == 0);
    const auto joined =
        host.fabric.join(*std::move(endpoint),
                         {.own = Rank{0},
                          .source = Rank{0},
                          .places = {own->bytes, own->bytes},
                          .group = [](std::size_t) { return *Address::parse("239.4.4.4", 1); },
                          .data_ports = {}});
    REQUIRE(joined);
    CHECK(host.net.joins == 1);
    CHECK(host.net.groups.contains("239.4.4.4:1"));
}

TEST_CASE("whichever call of the device fails, the member has a reason and nothing open") {
    int failures = 0;
    for (int call = 0;; ++call) {
        Host host;
        host.port.fails_call = call;
        auto endpoint = host.fabric.open(plan(true));
        REQUIRE(endpoint);
        const auto own = host.fabric.place(*endpoint);
        REQUIRE(own);
        const auto place = decode_place(own->bytes);
        REQUIRE(place);
        if (place->why_not.empty()) {
            break;
        }
        ++failures;
        CHECK(place->why_not == "fake3 port 1: the fake call fails");
        CHECK(endpoint->opened == nullptr);
        CHECK(host.net.pairs.empty());
        CHECK(host.net.joins == 0);
        const auto objection = host.fabric.objection({own->bytes, own->bytes});
        REQUIRE(objection);
        CHECK(objection->why == place->why_not);
        const auto again = host.fabric.place(*endpoint);
        REQUIRE(again);
        CHECK(again->bytes != own->bytes);
    }
    CHECK(failures == 9);  // Three buffers, three queues, two queue pairs and the group.
}

TEST_CASE("members of which one can't be reached say which and why") {
    const VerbsPlace good = good_place();
    CHECK(objection_to(good, good).empty());
    VerbsPlace other = good;
    other.peer.kind = LinkKind::infiniband;
    CHECK(objection_to(good, other) == "1: one link is InfiniBand, the other one RoCE");
    other = good;
    other.peer.pkey = 0x8001;
    CHECK(objection_to(good, other) == "1: its P_Key differs from the first node's");
    other.peer.pkey = 0x7fff;  // A limited member of the partition.
    CHECK(objection_to(good, other).empty());
    CHECK_THAT(objection_to(other, other), Catch::StartsWith("1: it is a limited member"));
    other = good;
    other.peer.gid[0] = std::byte{0xfe};
    CHECK(objection_to(good, other).empty());  // RoCE is routed.
    VerbsPlace infiniband = good;
    infiniband.peer.kind = other.peer.kind = LinkKind::infiniband;
    CHECK(objection_to(infiniband, other) == "1: it is in another subnet of InfiniBand");
    other = {.why_not = "this node has no RDMA device"};
    CHECK(objection_to(other, good) == "0: this node has no RDMA device");
    const VerbsFabric fabric{open_device_port};
    const auto objection = fabric.objection({encode_place(good), {}});
    REQUIRE(objection);
    CHECK(objection->why == "its stagecast knows no RDMA");
}

TEST_CASE("only one whole place is accepted") {
    const auto bytes = encode_place(good_place());
    REQUIRE(decode_place(bytes));
    CHECK(decode_place(bytes)->peer == good_place().peer);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        CHECK_FALSE(decode_place(Bytes{bytes}.first(length)));
    }
    auto longer = bytes;
    longer.push_back({});
    CHECK_FALSE(decode_place(longer));
    VerbsPlace wrong = good_place();
    wrong.mtu = 1024;
    CHECK_FALSE(decode_place(encode_place(wrong)));
    wrong = good_place();
    wrong.peer.queue_pair = 0xffffff;  // A group's.
    CHECK_FALSE(decode_place(encode_place(wrong)));
    wrong.peer.queue_pair = 0;
    CHECK_FALSE(decode_place(encode_place(wrong)));
    // A long reason is cut.
    CHECK(encode_place({.why_not = std::string(500, 'x')}).size() <= kMaxPlaceBytes);
}

TEST_CASE("a node without an RDMA device says so") {
    const auto port =
        open_device_port({.rail = {.name = "lo", .address = *Address::parse("127.0.0.1", 0)}});
    REQUIRE_FALSE(port);
    CHECK(port.error().blame() == Blame::node);
    CHECK_FALSE(port.error().sentence().empty());
}

}  // namespace stage::verbs
