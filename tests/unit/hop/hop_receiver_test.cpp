// Tests what the receiving end of a hop acknowledges, holds back and refuses.
#include "transport/hop/hop_receiver.h"

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <vector>

namespace stage::hop {
namespace {

using namespace std::chrono_literals;

constexpr Instant kBegin{1s};

class Receiving {
  public:
    Receiving() { receiver.begin(kShortDatagram, 40ms); }

    /// A message of one piece, with an order or 0.
    void hear(std::uint32_t number, std::uint32_t message, std::uint8_t order) {
        const std::array<std::byte, 6> bytes{
            {{}, {}, {}, std::byte{order}, std::byte{9}, std::byte{9}}};
        receiver.on_piece(kBegin, {.number = number, .message = message, .payload = bytes});
    }
    std::size_t taken() {
        std::vector<std::vector<std::byte>> messages;
        receiver.take(messages);
        return messages.size();
    }

    HopReceiver receiver;
};

TEST_CASE("an acknowledgement is due after a quarter of the RTT, or with the 64th piece") {
    Receiving end;
    CHECK_FALSE(end.receiver.ack_at());
    end.hear(0, 0, 1);
    CHECK(end.receiver.ack_at() == kBegin + 10ms);
    for (std::uint32_t i = 1; i < 64; ++i) {
        end.hear(i, i, 0);
    }
    CHECK(end.receiver.ack_at() == kBegin);
    const Ack ack = end.receiver.take_ack(kBegin + 3ms, 5);
    CHECK(ack.to == 5);
    CHECK(ack.largest == 63);
    CHECK(ack.delay_us == 3000);
    CHECK(ack.runs == std::vector<AckRun>{{.present = 64}});
    CHECK_FALSE(end.receiver.ack_at());
}

TEST_CASE("runs go downwards, and a piece that came twice is acknowledged again") {
    Receiving end;
    for (const std::uint32_t number : {0U, 1U, 5U, 6U, 9U}) {
        end.hear(number, number, number == 0 ? 1 : 0);
    }
    const std::vector<AckRun> want{{.missing = 0, .present = 1},
                                   {.missing = 2, .present = 2},
                                   {.missing = 3, .present = 2}};
    CHECK(end.receiver.take_ack(kBegin, 1).runs == want);
    end.hear(5, 5, 0);
    CHECK(end.receiver.repeats() == 1);
    CHECK(end.receiver.take_ack(kBegin, 1).runs == want);
    end.hear(10, 5, 0);  // The same piece with a new number.
    CHECK(end.receiver.repeats() == 2);
    CHECK(end.receiver.take_ack(kBegin, 1).largest == 10);
    CHECK(end.taken() == 5);
}

TEST_CASE("messages with an order wait for each other, and the others for the first of them") {
    Receiving end;
    end.hear(0, 5, 0);
    end.hear(1, 2, 2);
    CHECK(end.taken() == 0);
    end.hear(2, 1, 1);
    CHECK(end.taken() == 3);
    end.hear(3, 7, 0);
    CHECK(end.taken() == 1);
}

TEST_CASE("a message far beyond those that are here is not remembered") {
    Receiving end;
    end.hear(0, 0, 1);
    end.hear(1, 1U << 20U, 0);
    CHECK(end.taken() == 1);
    CHECK(end.receiver.take_ack(kBegin, 1).largest == 0);
    end.hear(2, 1, 0);
    CHECK(end.taken() == 1);
}

TEST_CASE("pieces of another length than agreed on are dropped") {
    Receiving end;
    const std::vector<std::byte> bytes(kShortDatagram - kPieceHeadBytes + 1);
    end.receiver.on_piece(kBegin, {.count = 2, .payload = Bytes{bytes}.first(100)});
    end.receiver.on_piece(kBegin, {.index = 1, .count = 2, .payload = bytes});
    CHECK_FALSE(end.receiver.ack_at());
}

}  // namespace
}  // namespace stage::hop
