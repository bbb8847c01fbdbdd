#include "transport/fabrics/fabrics.h"

#include "transport/hop/hop_fabric.h"
#include "transport/tcp/tcp_fabric.h"
#include "transport/udp/udp_fabric.h"
#include "transport/verbs/rdma_core.h"
#include "transport/verbs/verbs_fabric.h"

#include <algorithm>

namespace stage {
namespace {

/// The best first, those of legs aside. A new fabric is named here.
const std::vector<const Fabric*>& all() {
    static const verbs::VerbsFabric verbs{verbs::open_device_port};
    static const udp::UdpFabric udp;
    static const tcp::TcpFabric tcp;
    static const std::vector<const Fabric*> fabrics{&verbs, &udp, &tcp};
    return fabrics;
}

const Fabric& of_leg() {
    static const hop::HopFabric hop;
    return hop;
}

}  // namespace

const Fabric* fabric_called(std::string_view name) {
    const auto found = std::ranges::find(all(), name, &Fabric::name);
    return found != all().end() ? *found : name == of_leg().name() ? &of_leg() : nullptr;
}

std::vector<const Fabric*> fabrics_for(Transport transport) {
    std::vector<const Fabric*> named;
    std::ranges::copy_if(all(), std::back_inserter(named), [&](const Fabric* fabric) {
        const bool is_named = fabric->name() == word_of(transport);
        return is_named ||
               (may_relay(transport) && fabric->name() != word_of(Transport::verbs));
    });
    return named;
}

std::vector<const Fabric*> fabrics_of_leg(WideArea wide_area) {
    const Fabric* const tcp = fabric_called(word_of(WideArea::tcp));
    return wide_area == WideArea::tcp ? std::vector{tcp}
                                      : std::vector<const Fabric*>{&of_leg(), tcp};
}

}  // namespace stage
