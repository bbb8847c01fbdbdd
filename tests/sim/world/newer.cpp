#include "tests/sim/world/newer.h"

#include "transport/wire/body.h"

#include <algorithm>

namespace stage::sim {
namespace {

constexpr std::uint8_t kUnknownFlag = 0x4;
constexpr std::uint32_t kUnknownFeature = 1U << 3U;

}  // namespace

void speak_newer(Train& train) {
    train.header.flags |= kUnknownFlag;
    if (train.header.type != wire::PacketType::offer) {
        return;
    }
    if (auto offer = wire::read_offer(train.body)) {
        offer->features |= kUnknownFeature;
        const std::vector<std::byte> body = wire::write(*offer);
        std::ranges::copy(body, train.body.begin());
    }
}

}  // namespace stage::sim
