#include "stager/daemon/tree/link_dialer.h"

#include "stager/config/config.h"
#include "stager/link/credentials.h"
#include "stager/link/link.h"

#include <utility>

namespace stage {
namespace {

std::string key_of(const std::string& node, const std::string& host) {
    return node + ' ' + host;
}

}  // namespace

Result<std::unique_ptr<DrivenLink>> LinkDialer::dial(const std::string& node,
                                                     const std::string& host,
                                                     Loop::Task on_change) {
    TRY(const auto address, Address::parse(host, config_.port));
    auto link = take_prepared(key_of(node, host));
    if (link == nullptr) {
        link = connect(node, address);
    }
    link->set_on_change(std::move(on_change));
    return link;
}

std::unique_ptr<DrivenLink> LinkDialer::connect(const std::string& node,
                                                const Address& address) {
    return std::make_unique<DrivenLink>(
        loop_, Link::connect(policy_, credentials_, node, address, loop_.now()), [] {});
}

void LinkDialer::prepare(const std::string& node, const std::string& host) {
    if (const auto address = Address::parse(host, config_.port)) {
        prepared_.emplace(key_of(node, host),
                          Prepared{.link = connect(node, *address), .begun = loop_.now()});
    }
}

void LinkDialer::adopt(const std::string& node,
                       const std::string& host,
                       std::unique_ptr<DrivenLink> link) {
    link->set_on_change([] {});
    prepared_.emplace(key_of(node, host),
                      Prepared{.link = std::move(link), .begun = loop_.now()});
}

void LinkDialer::discard(const std::string& node, const std::string& host) {
    static_cast<void>(take_prepared(key_of(node, host)));
}

/// The link, if it is of use.
std::unique_ptr<DrivenLink> LinkDialer::take_prepared(const std::string& key) {
    const auto found = prepared_.find(key);
    if (found == prepared_.end()) {
        return nullptr;
    }
    Prepared taken = std::move(found->second);
    prepared_.erase(found);
    const bool is_good = taken.link->link().state() != Link::State::closed &&
                         loop_.now() - taken.begun < kPreparedMax;
    return is_good ? std::move(taken.link) : nullptr;
}

}  // namespace stage
