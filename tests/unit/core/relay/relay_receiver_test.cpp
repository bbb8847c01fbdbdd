#include "transport/core/relay/relay_receiver.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <vector>

namespace stage::core {
namespace {

/// A receiver of a chain of five, between rank 1 and rank 3.
class Member {
  public:
    explicit Member(std::optional<ObjectShape> announced = std::nullopt)
        : receiver_{config(announced), Relay{}} {
        receiver_.on_time(now_);
    }
    void hear(std::uint16_t from, wire::PacketType type, std::vector<std::byte> body) {
        Datagram datagram;
        datagram.header.type = type;
        datagram.header.rank = Rank{from};
        datagram.body = body;
        datagram.body_bytes = static_cast<std::uint16_t>(body.size());
        receiver_.on_datagrams(now_, std::span{&datagram, 1});
    }
    /// The types of what it has sent to its parent, but for signs of life.
    std::vector<wire::PacketType> types_to_parent() {
        std::vector<wire::PacketType> types;
        for (const Send& send : sent_to(1)) {
            if (send.type != wire::PacketType::pulse) {
                types.push_back(send.type);
            }
        }
        return types;
    }
    [[nodiscard]] const Outcome& outcome() const { return receiver_.outcome(); }
    void lose(std::uint16_t peer) {
        const LinkEvent event{.peer = Rank{peer}, .kind = LinkEvent::Kind::closed};
        receiver_.on_links(now_, std::span{&event, 1});
    }
    void pass(Duration time) { now_ += time; }
    /// What it has sent to that member.
    std::vector<Send> sent_to(std::uint16_t rank) {
        SendBatch batch;
        receiver_.next_sends(now_, batch);
        std::erase_if(batch.sends,
                      [rank](const Send& send) { return send.to.peer != Rank{rank}; });
        return std::move(batch.sends);
    }
    /// The LEAVEs that it has sent: to which member, and of which.
    std::vector<std::pair<Rank, Rank>> leaves() {
        SendBatch batch;
        receiver_.next_sends(now_, batch);
        std::vector<std::pair<Rank, Rank>> all;
        for (const Send& send : batch.sends) {
            if (send.type == wire::PacketType::leave) {
                all.emplace_back(send.to.peer, wire::read_ending(send.body)->rank);
            }
        }
        return all;
    }

  private:
    static CoreConfig config(std::optional<ObjectShape> announced) {
        CoreConfig config;
        config.announced = announced;
        config.own = Rank{2};
        config.members = 5;
        config.source = Rank{0};
        config.chunk_bytes = 16384;
        config.resident_blocks = 24;
        return config;
    }

    Instant now_{std::chrono::hours{1}};
    RelayReceiver receiver_;
};

std::vector<std::byte> offer_of(const ObjectShape& shape) {
    wire::Offer offer;
    offer.blocks = shape.blocks;
    offer.object_bytes = shape.object_bytes;
    offer.chunk_bytes = 16384;
    return wire::write(offer);
}

TEST_CASE("a new parent hears of every member below that cannot go on") {
    using wire::PacketType;
    using Leaves = std::vector<std::pair<Rank, Rank>>;
    const auto leave_of = [](std::uint16_t rank) {
        return wire::write(wire::Ending{.rank = Rank{rank}, .why = "disk full"});
    };
    Member member;
    member.hear(3, PacketType::ready, wire::write(wire::Ready{}));
    member.hear(3, PacketType::leave, leave_of(4));
    member.hear(3, PacketType::leave, leave_of(3));
    member.hear(3, PacketType::leave, leave_of(4));
    CHECK(member.leaves() == Leaves{{Rank{1}, Rank{4}}, {Rank{1}, Rank{3}}});
    member.lose(1);
    CHECK(member.leaves() == Leaves{{Rank{0}, Rank{3}}, {Rank{0}, Rank{4}}});
}

// A child that finds nothing here which it needs leaves before the next PULSE.
TEST_CASE("a child hears with the OFFER when the source was heard") {
    using wire::PacketType;
    Member member;
    member.pass(std::chrono::seconds{1});
    member.hear(1, PacketType::offer, offer_of({.blocks = 1, .object_bytes = 9}));
    wire::Pulse pulse;
    pulse.queue_us = 5000;
    member.hear(1, PacketType::pulse, wire::write(pulse));
    member.pass(std::chrono::milliseconds{70});
    member.hear(3, PacketType::ready, wire::write(wire::Ready{}));
    const std::vector<Send> sent = member.sent_to(3);
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].type == PacketType::offer);
    REQUIRE(sent[1].type == PacketType::pulse);
    CHECK(wire::read_pulse(sent[1].body)->queue_us == 75'000);
}

TEST_CASE("blocks of an announced object are requested with the first packet to the parent") {
    using wire::PacketType;
    constexpr ObjectShape kShape{.blocks = 20, .object_bytes = 20 * 1048576};
    using Types = std::vector<PacketType>;
    Member member{kShape};
    CHECK(member.types_to_parent() == Types{PacketType::ready, PacketType::request});
    SECTION("and not again when it is offered") {
        member.hear(1, PacketType::offer, offer_of(kShape));
        CHECK(member.outcome().phase == Phase::moving);
        CHECK(member.types_to_parent().empty());
    }
    SECTION("another one is not taken") {
        member.hear(1, PacketType::offer, offer_of({.blocks = 20, .object_bytes = 7}));
        CHECK(member.outcome().phase == Phase::failed);
        CHECK_THAT(member.outcome().why->sentence(), Catch::Contains("have changed"));
    }
}

TEST_CASE("an object that nothing is known of is requested once it is offered") {
    using wire::PacketType;
    using Types = std::vector<PacketType>;
    Member member;
    CHECK(member.types_to_parent() == Types{PacketType::ready});
    member.hear(1, PacketType::offer, offer_of({.blocks = 20, .object_bytes = 20 * 1048576}));
    CHECK(member.types_to_parent() == Types{PacketType::request});
}

}  // namespace
}  // namespace stage::core
