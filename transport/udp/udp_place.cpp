#include "transport/udp/udp_place.h"

#include "transport/base/fields.h"
#include "transport/fabric/address_field.h"
#include "transport/udp/udp_fabric.h"

namespace stage::udp {

void fields(auto& on, Like<UdpPlace> auto& place) {
    on.with(place.peer, put_address, take_address).number(place.mtu).number(place.rails);
    on.require(!place.peer.ip.is_any() && place.peer.port != 0 && place.mtu >= kMinMtu &&
               place.rails >= 1 && place.rails <= kFlowsMax);
}

std::vector<std::byte> encode_place(const UdpPlace& place) {
    return encoded(place);
}

Result<UdpPlace> decode_place(Bytes bytes) {
    auto place = decoded<UdpPlace>(bytes);
    if (!place) {
        return Error{Blame::internal, "a member's UDP address in its card is not acceptable"};
    }
    return *std::move(place);
}

}  // namespace stage::udp
