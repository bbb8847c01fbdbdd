#include "stager/cache/lease_server_choice.h"

#include "transport/base/checksum.h"
#include "transport/base/codec.h"
#include "transport/base/invariant.h"

#include <algorithm>

namespace stage {
namespace {

Digest128 draw(const std::string& node, Bytes of) {
    ByteWriter writer;
    writer.text(node).raw(of);
    return xxh3_128(writer.view());
}

}  // namespace

std::vector<std::string> draw_lease_servers(std::vector<std::string> nodes) {
    std::ranges::sort(nodes, {}, [](const std::string& node) { return draw(node, {}); });
    nodes.resize(std::min(nodes.size(), kLeaseServersMax));
    return nodes;
}

std::size_t lease_server_of(const std::vector<std::string>& servers, const LeasedFile& file) {
    invariant(!servers.empty(), "there is a lease server");
    ByteWriter name;
    name.u32(file.uid).raw(file.stamp);
    const auto least = std::ranges::min_element(
        servers, {}, [&](const std::string& node) { return draw(node, name.view()); });
    return static_cast<std::size_t>(least - servers.begin());
}

}  // namespace stage
