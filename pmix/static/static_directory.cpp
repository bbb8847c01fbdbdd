#include "pmix/static/static_directory.h"

#include "pmix/static/gathering.h"
#include "pmix/static/joining.h"

#include <algorithm>

namespace stage {
namespace {

/// The time that rank 0 needs to report the missing ranks before the other members time out.
std::chrono::milliseconds head_start(std::chrono::milliseconds longest) {
    return std::min(longest / 10, std::chrono::milliseconds{1000});
}

}  // namespace

StaticDirectory::StaticDirectory(Group group) : group_{std::move(group)} {
    invariant(group_.own.index() < group_.hosts.size() && group_.hosts.size() <= kMaxCards,
              "a member is in its host file");
    invariant(group_.port != 0, "the members meet at a port");
}

Status StaticDirectory::publish(const Card& own) {
    invariant(own.rank == group_.own, "a member publishes its own card");
    TRY(checked_card(own));
    own_ = own;
    return {};
}

Result<CardTable> StaticDirectory::collect(const WaitLimit& wait_limit) {
    const HelloKey key{group_.key, group_.hosts};
    Result<CardTable> cards =
        own_.rank.value() == 0 ? gather(key, wait_limit) : join(key, wait_limit);
    if (!cards) {
        return cards;
    }
    TRY(check_cards(*cards));
    // The incarnation is new: a table of an earlier run lacks it.
    if (cards->size() != group_.hosts.size() || (*cards)[own_.rank.index()] != own_) {
        return Error{Blame::internal, "the table of cards does not have our own card in it"};
    }
    return cards;
}

Result<CardTable> StaticDirectory::gather(const HelloKey& key, WaitLimit wait_limit) const {
    TRY(const auto listener, listen_tcp(group_.hosts.front(), group_.port));
    wait_limit.longest -= head_start(wait_limit.longest);
    return Gathering{key, group_.hosts, own_}.run(listener, wait_limit);
}

Result<CardTable> StaticDirectory::join(const HelloKey& key,
                                        const WaitLimit& wait_limit) const {
    const Meeting meeting{.address = group_.hosts.front(), .port = group_.port};
    return join_group(key, meeting, own_, wait_limit);
}

}  // namespace stage
