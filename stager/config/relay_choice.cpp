#include "stager/config/relay_choice.h"

#include "transport/base/units.h"

#include <algorithm>
#include <bit>

namespace stage {
namespace {

constexpr std::uint8_t kDegreeMax = 16;
/// Two trees have to save this part of their time,
constexpr std::uint64_t kLeastGain = 20;
/// and are for this many members: with fewer, what they save where links are fast is a moment,
/// and they take longer than a chain where links are slow, as measured.
constexpr std::uint32_t kTwoTreesMembers = 256;

/// The number of bytes that take the time until all members have the object by one tree.
std::uint64_t tree_cost(const RelayFacts& facts, std::uint32_t degree) {
    std::uint64_t hops = 0;  // Of the last member.
    for (std::uint32_t place = facts.members - 1; place > 0; place = (place - 1) / degree) {
        ++hops;
    }
    return facts.object_bytes * degree + facts.hop_bytes * hops;
}

/// Each link carries the two stripes side by side, each at half of its rate; the first one is
/// the longer. They end about a block apart, as measured.
std::uint64_t two_trees_cost(const RelayFacts& facts) {
    const std::uint64_t pairs = facts.object_bytes / (2 * kBlockBytes);
    const std::uint64_t rest = facts.object_bytes % (2 * kBlockBytes);
    const std::uint64_t stripe =
        pairs * kBlockBytes + std::min<std::uint64_t>(rest, kBlockBytes);
    const auto hops = static_cast<std::uint64_t>(std::bit_width(facts.members - 1));
    return 2 * stripe + 2 * facts.hop_bytes * hops + kBlockBytes;
}

std::uint8_t best_degree(const RelayFacts& facts) {
    std::uint8_t best = 1;
    std::uint64_t least = tree_cost(facts, best);
    for (std::uint8_t degree = 2; degree <= kDegreeMax; ++degree) {
        const std::uint64_t cost = tree_cost(facts, degree);
        if (cost < least) {
            least = cost;
            best = degree;
        }
    }
    return best;
}

/// "1.25 times as long": what the other one would take.
std::string times_as_long(std::uint64_t other, std::uint64_t chosen) {
    const std::uint64_t hundredths = other * 100 / std::max<std::uint64_t>(chosen, 1);
    const std::string part = std::to_string(hundredths % 100);
    return std::to_string(hundredths / 100) + (part.size() < 2 ? ".0" : ".") + part +
           " times as long";
}

}  // namespace

RelayChoice choose_relay(const RelayFacts& facts) {
    if (facts.asked == RelayShape::two_trees) {
        return {.relay = Relay::two_trees(), .why = "two trees, as asked for"};
    }
    if (facts.asked == RelayShape::chain) {
        return {.why = "a chain, as asked for"};
    }
    if (facts.members <= 2) {
        return {.why = "a chain: there is one receiver"};
    }
    const std::uint64_t chain = tree_cost(facts, 1);
    const std::uint64_t two = two_trees_cost(facts);
    const std::uint8_t degree = best_degree(facts);
    const std::uint64_t one = tree_cost(facts, degree);
    const bool are_many = facts.members >= kTwoTreesMembers;
    if (are_many && two + two / kLeastGain < one) {
        return {.relay = Relay::two_trees(),
                .why = "two trees: a chain would take " + times_as_long(chain, two)};
    }
    if (degree > 1) {
        return {.relay = Relay::tree(degree),
                .why = "a tree of degree " + std::to_string(degree) + ": a chain would take " +
                       times_as_long(chain, one)};
    }
    return {.why = are_many && two < chain ? "a chain: two trees would save less than 5 %"
                   : are_many ? "a chain: two trees would take " + times_as_long(two, chain)
                              : "a chain: two trees are for " +
                                    std::to_string(kTwoTreesMembers) + " nodes and more"};
}

}  // namespace stage
