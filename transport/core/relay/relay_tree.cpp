#include "transport/core/relay/relay_tree.h"

namespace stage::core {
namespace {

constexpr std::uint32_t kDegreeMax = 16;

}  // namespace

std::uint32_t relay_degree(std::uint64_t object_bytes,
                           std::uint32_t members,
                           std::uint64_t hop_bytes) {
    std::uint32_t best = 1;
    std::uint64_t least = object_bytes + hop_bytes * (members - 1);
    for (std::uint32_t degree = 2; degree <= kDegreeMax; ++degree) {
        const RelayTree tree{.members = members, .source = Rank{0}, .degree = degree};
        const std::uint64_t hops = tree.depth(members - 1);
        const std::uint64_t cost = object_bytes * degree + hop_bytes * hops;
        if (cost < least) {
            least = cost;
            best = degree;
        }
    }
    return best;
}

}  // namespace stage::core
