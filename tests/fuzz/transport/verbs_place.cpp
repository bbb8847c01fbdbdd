// Fuzzes a member's place in the verbs fabric, which its card carries.
#include "transport/verbs/verbs_place.h"

#include "tests/fuzz/fuzz.h"
#include "transport/verbs/rdma_core.h"

namespace stage {

bool fuzz_one(Bytes input) {
    return is_stable(input, verbs::decode_place, [](const verbs::VerbsPlace& place) {
        invariant(!place.why_not.empty() || place.mtu >= verbs::kMinPortMtu,
                  "a queue pair takes control packets");
        return encode_place(place);
    });
}

std::vector<FuzzSeed> fuzz_seeds() {
    verbs::VerbsPlace place{
        .why_not = {}, .peer = {.queue_pair = 18, .qkey = 0x1234567}, .mtu = 4096};
    place.peer.gid[10] = place.peer.gid[11] = std::byte{0xff};
    return {{"roce", encode_place(place)},
            {"none", verbs::encode_place({.why_not = "this node has no RDMA device"})}};
}

}  // namespace stage
