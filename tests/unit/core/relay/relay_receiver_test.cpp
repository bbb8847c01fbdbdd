#include "transport/core/relay/relay_receiver.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <vector>

namespace stage::core {
namespace {

/// A receiver of a chain of five, between rank 1 and rank 3.
class Member {
  public:
    Member() {
        receiver_.on_time(now_);
        static_cast<void>(leaves());
    }
    void hear(std::uint16_t from, wire::PacketType type, std::vector<std::byte> body) {
        Datagram datagram;
        datagram.header.type = type;
        datagram.header.rank = Rank{from};
        datagram.body = body;
        datagram.body_bytes = static_cast<std::uint16_t>(body.size());
        receiver_.on_datagrams(now_, std::span{&datagram, 1});
    }
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
    static CoreConfig config() {
        CoreConfig config;
        config.own = Rank{2};
        config.members = 5;
        config.source = Rank{0};
        config.chunk_bytes = 16384;
        config.resident_blocks = 24;
        return config;
    }

    Instant now_{std::chrono::hours{1}};
    RelayReceiver receiver_{config(), Relay{}};
};

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
    wire::Offer offer;
    offer.blocks = 1;
    offer.object_bytes = 9;
    offer.chunk_bytes = 16384;
    member.hear(1, PacketType::offer, wire::write(offer));
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

}  // namespace
}  // namespace stage::core
