#include "transport/verbs/verbs_place.h"

#include "transport/base/fields.h"
#include "transport/verbs/rdma_core.h"

namespace stage::verbs {
namespace {

constexpr std::size_t kReasonBytes = 93;  ///< What kMaxPlaceBytes leaves.
constexpr std::uint32_t kMaxQueuePair = 0xffffff;
constexpr std::uint16_t kMaxMtu = 4096;

}  // namespace

void fields(auto& on, Like<VerbsPlace> auto& place) {
    on.cut(place.why_not, kReasonBytes);
    on.choice(place.peer.kind, LinkKind::roce).raw(place.peer.gid);
    on.number(place.peer.lid).number(place.peer.pkey);
    on.number(place.peer.queue_pair).number(place.peer.qkey).number(place.mtu);
    on.require(!place.why_not.empty() ||
               (place.peer.queue_pair != 0 && place.peer.queue_pair < kMaxQueuePair &&
                place.mtu >= kMinPortMtu && place.mtu <= kMaxMtu));
}

std::vector<std::byte> encode_place(const VerbsPlace& place) {
    return encoded(place);
}

Result<VerbsPlace> decode_place(Bytes bytes) {
    auto place = decoded<VerbsPlace>(bytes);
    if (!place) {
        return Error{Blame::internal, "a member's queue pair in its card is not acceptable"};
    }
    return *std::move(place);
}

}  // namespace stage::verbs
