#include "stager/daemon/base/node_addresses.h"

#include <utility>

namespace stage {

void NodeAddresses::learn(const std::string& node,
                          std::string address,
                          std::optional<Instant> asked) {
    Known& known = known_[node];
    known.address = std::move(address);
    if (asked) {
        known.asked = asked;
    }
}

void NodeAddresses::doubt(const std::string& node) {
    const auto found = known_.find(node);
    if (found != known_.end()) {
        found->second.asked.reset();
    }
}

std::optional<std::string> NodeAddresses::of(const std::string& node) const {
    const auto found = known_.find(node);
    return found == known_.end() ? std::nullopt : std::optional{found->second.address};
}

bool NodeAddresses::is_fresh(const std::string& node, Instant now) const {
    const auto found = known_.find(node);
    return found != known_.end() && found->second.asked &&
           *found->second.asked + kAddressAge >= now;
}

}  // namespace stage
