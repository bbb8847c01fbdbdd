#include "stager/daemon/cache/cache_server.h"

#include "stager/daemon/base/children.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/node_cache.h"
#include "stager/spawn/descriptors.h"
#include "transport/base/log.h"
#include "transport/base/random_value.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace stage {
namespace {

/// Who has asked takes at once.
constexpr Duration kTakeMax = std::chrono::seconds{10};

}  // namespace

CacheServer::~CacheServer() {
    for (const auto& [id, loan] : loans_) {
        if (loan.copier) {
            services_.loop.forget(loan.copier.get());
        }
    }
}

void CacheServer::on_fetch(const FetchMessage& message, std::unique_ptr<DrivenLink> link) {
    if (loans_.size() >= kFetchersMax) {
        return;  // It hangs up on them.
    }
    const bool is_busy = lent() >= kLoansMax;
    const std::uint64_t id = ++last_;
    Loan& loan = loans_[id];
    loan.link = std::move(link);
    loan.link->set_on_change([this, id] { on_change(id); });
    loan.limit = std::make_unique<Alarm>(services_.loop, [this, id] { remove(id); });
    loan.limit->set(services_.loop.now() + kTakeMax);
    FoundMessage found;
    auto lent = is_busy ? std::nullopt : services_.cache.lend(message.file);
    if (!lent) {
        found.content = services_.cache.content_of(message.file).value_or(Content{});
        loan.link->send(encode(TreeMessage{found}));
        loan.link->finish();
        return;
    }
    found.bytes = lent->bytes;
    found.content = lent->content;
    found.key = random_value<decltype(found.key)>();
    found.nonce_base = random_value<decltype(found.nonce_base)>();
    loan.order.way = CopyWay::send;
    loan.order.size = lent->bytes;
    loan.order.key.key = found.key;
    loan.order.key.nonce_base = found.nonce_base;
    loan.file = std::move(lent->file);
    loan.link->send(encode(TreeMessage{found}));
}

/// Who has been told that there is nothing, and has not hung up yet, takes nobody's place.
std::size_t CacheServer::lent() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        loans_, [](const auto& one) { return one.second.file || one.second.copier; }));
}

void CacheServer::on_change(std::uint64_t id) {
    const auto loan = loans_.find(id);
    if (loan == loans_.end()) {
        return;
    }
    Link& link = loan->second.link->link();
    const auto frame = link.receive();
    const auto message = frame ? decode_tree_message(*frame)
                               : Result<TreeMessage>{Error{Blame::node, "nothing"}};
    if (loan->second.file && message && std::holds_alternative<TakeMessage>(*message)) {
        on_take(id);
    } else if (frame || link.state() == Link::State::closed) {
        remove(id);
    }
}

void CacheServer::on_take(std::uint64_t id) {
    Loan& loan = loans_.at(id);
    UniqueFd socket = loan.link->release();
    Status begun = socket ? begin_sending(id, loan, std::move(socket))
                          : Status{Error{Blame::node, "it says too much"}};
    if (!begun) {
        services_.log.info(
            "a file is not sent to another node",
            {{"node", loan.link->link().peer_name()}, {"why", begun.error().sentence()}});
        remove(id);
    }
}

Status CacheServer::begin_sending(std::uint64_t id, Loan& loan, UniqueFd socket) {
    auto role = services_.children.start_role(
        kRoleCacheCopier, SOCK_SEQPACKET, [this, id](const SpawnEvent& event) {
            const auto found = loans_.find(id);
            if (found != loans_.end()) {
                found->second.pid = event.pid;
            }
        });
    if (!role) {
        return std::move(role).error();
    }
    const std::array fds{loan.file.get(), socket.get()};
    Status sent = send_with_descriptors(role->socket.get(), encode_copy_order(loan.order), fds);
    if (sent) {
        sent =
            services_.loop.watch(role->socket.get(), EPOLLIN, [this, id](auto) { remove(id); });
    }
    if (!sent) {
        return sent;
    }
    loan.copier = std::move(role->socket);
    loan.file.reset();
    loan.limit = std::make_unique<Alarm>(services_.loop, [this, id] {
        services_.children.kill(loans_.at(id).pid, SIGKILL);
        remove(id);
    });
    loan.limit->set(services_.loop.now() + copy_max(loan.order.size));
    return {};
}

/// Over, whatever came of it: the other end knows.
void CacheServer::remove(std::uint64_t id) {
    const auto found = loans_.find(id);
    if (found == loans_.end()) {
        return;
    }
    if (found->second.copier) {
        services_.loop.forget(found->second.copier.get());
    }
    // Not from within its own callback.
    services_.loop.defer([gone = std::make_shared<Loan>(std::move(found->second))] {});
    loans_.erase(found);
}

}  // namespace stage
