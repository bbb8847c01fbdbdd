#include "stager/daemon/tree/link_dialer.h"

#include "stager/config/config.h"
#include "stager/link/credentials.h"
#include "stager/link/link.h"

#include <utility>

namespace stage {

Result<std::unique_ptr<DrivenLink>> LinkDialer::dial(const std::string& node,
                                                     const std::string& host,
                                                     Loop::Task on_change) const {
    TRY(const auto address, Address::parse(host, config_.port));
    return std::make_unique<DrivenLink>(
        loop_,
        Link::connect(policy_, credentials_, node, address, loop_.now()),
        std::move(on_change));
}

}  // namespace stage
