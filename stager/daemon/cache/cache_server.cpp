#include "stager/daemon/cache/cache_server.h"

#include "stager/daemon/base/children.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/node_cache.h"
#include "transport/base/log.h"
#include "transport/base/random_value.h"
#include "transport/os/descriptors.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace stage {
namespace {

/// The time from FOUND to TAKE, which the other node sends at once.
constexpr Duration kTakeMax = std::chrono::seconds{10};

}  // namespace

CacheServer::~CacheServer() {
    for (const auto& [id, transfer] : transfers_) {
        if (transfer.copier) {
            basics_.loop.forget(transfer.copier.get());
        }
    }
}

void CacheServer::on_fetch(const FetchMessage& message, std::unique_ptr<DrivenLink> link) {
    if (transfers_.size() >= kFetchersMax) {
        return;  // Destroying the link closes the connection.
    }
    const bool is_busy = sending_count() >= kTransfersMax;
    const std::uint64_t id = ++last_;
    Transfer& transfer = transfers_[id];
    transfer.link = std::move(link);
    transfer.link->set_on_change([this, id] { on_change(id); });
    transfer.limit = std::make_unique<Alarm>(basics_.loop, [this, id] { remove(id); });
    transfer.limit->set(basics_.loop.now() + kTakeMax);
    FoundMessage found;
    auto served = is_busy ? std::nullopt : cache_.serve(message.file);
    if (!served) {
        found.content = cache_.content_of(message.file).value_or(Content{});
        transfer.link->send(encode(TreeMessage{found}));
        transfer.link->finish();
        return;
    }
    found.bytes = served->bytes;
    found.content = served->content;
    found.key = random_value<decltype(found.key)>();
    found.nonce_base = random_value<decltype(found.nonce_base)>();
    transfer.order.way = CopyWay::send;
    transfer.order.size = served->bytes;
    transfer.order.key.key = found.key;
    transfer.order.key.nonce_base = found.nonce_base;
    transfer.file = std::move(served->file);
    transfer.link->send(encode(TreeMessage{found}));
}

/// A node that gets no file and has not yet closed its connection does not count.
std::size_t CacheServer::sending_count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        transfers_, [](const auto& one) { return one.second.file || one.second.copier; }));
}

void CacheServer::on_change(std::uint64_t id) {
    const auto transfer = transfers_.find(id);
    if (transfer == transfers_.end()) {
        return;
    }
    Link& link = transfer->second.link->link();
    const auto frame = link.receive();
    const auto message = frame ? decode_tree_message(*frame)
                               : Result<TreeMessage>{Error{Blame::node, "nothing"}};
    if (transfer->second.file && message && std::holds_alternative<TakeMessage>(*message)) {
        on_take(id);
    } else if (frame || link.state() == Link::State::closed) {
        remove(id);
    }
}

void CacheServer::on_take(std::uint64_t id) {
    Transfer& transfer = transfers_.at(id);
    UniqueFd socket = transfer.link->release();
    Status begun = socket ? begin_sending(id, transfer, std::move(socket))
                          : Status{Error{Blame::node, "it sent more than TAKE"}};
    if (!begun) {
        basics_.log.info(
            "cannot send a cached file to another node",
            {{"node", transfer.link->link().peer_name()}, {"why", begun.error().sentence()}});
        remove(id);
    }
}

Status CacheServer::begin_sending(std::uint64_t id, Transfer& transfer, UniqueFd socket) {
    auto role = basics_.children.start_role(
        kRoleCacheCopier, SOCK_SEQPACKET, [this, id](const SpawnEvent& event) {
            const auto found = transfers_.find(id);
            if (found != transfers_.end()) {
                found->second.pid = event.pid;
            }
        });
    if (!role) {
        return std::move(role).error();
    }
    const std::array fds{transfer.file.get(), socket.get()};
    Status sent =
        send_with_descriptors(role->socket.get(), encode_copy_order(transfer.order), fds);
    if (sent) {
        sent =
            basics_.loop.watch(role->socket.get(), EPOLLIN, [this, id](auto) { remove(id); });
    }
    if (!sent) {
        return sent;
    }
    transfer.copier = std::move(role->socket);
    transfer.file.reset();
    transfer.limit = std::make_unique<Alarm>(basics_.loop, [this, id] {
        basics_.children.kill(transfers_.at(id).pid, SIGKILL);
        remove(id);
    });
    transfer.limit->set(basics_.loop.now() + copy_max(transfer.order.size));
    return {};
}

/// Ends the transfer, successful or not: the other end sees which.
void CacheServer::remove(std::uint64_t id) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) {
        return;
    }
    if (found->second.copier) {
        basics_.loop.forget(found->second.copier.get());
    }
    // Not within its own callback.
    basics_.loop.defer([gone = std::make_shared<Transfer>(std::move(found->second))] {});
    transfers_.erase(found);
}

}  // namespace stage
