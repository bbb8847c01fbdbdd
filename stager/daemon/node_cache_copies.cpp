// What the cache is about to hold: copied by whom, how long, and who makes room for it?
//
// What a worker or another node says of a file's length is only a word until a copier has read
// as much. Entries of others go for what is about to be written, not for what is claimed.
#include "stager/cache/copier.h"
#include "stager/daemon/loop.h"
#include "stager/daemon/node_cache.h"
#include "stager/spawn/descriptors.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <utility>

namespace stage {
namespace {

constexpr std::size_t kAnswerMax = 2048;

}  // namespace

/// What other nodes send: they may be slow, and what is kept here doesn't wait for them.
std::size_t NodeCache::fetches() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        copying_, [](const auto& one) { return one.second.job.promised.has_value(); }));
}

void NodeCache::begin_copies() {
    const auto has_copier = [this](std::uint32_t uid) { return copiers_.take(uid); };
    while (auto job = jobs_.pop(has_copier)) {
        const LeasedFile file = job->file;
        const bool is_part = job->is_part();
        const bool is_here = shelf_.find(file.uid, file.stamp).has_value();
        const Status begun = is_here ? Status{} : begin_copy(*job);
        if (is_here || !begun) {
            copiers_.leave(file.uid);
        }
        if (!begun) {
            around_.log.info("a file is not kept", {{"why", begun.error().sentence()}});
        }
        if (!is_part && (is_here || !begun)) {
            settle(file, is_here);
        }
    }
}

Status NodeCache::make_room(std::uint64_t bytes) {
    shelf_.set_quota(around_.config.cache_size);
    const auto gone = shelf_.room_for(bytes);
    if (!gone) {
        return no_room();
    }
    for (const ShelfKey& key : *gone) {
        drop(key);
        ++around_.counters.cache_evicted;
    }
    return {};
}

Status NodeCache::begin_copy(Job& job) {
    shelf_.set_quota(around_.config.cache_size);
    // (How much of a part there is nobody knows yet.)
    if (!job.is_part() && !shelf_.could_take(least_taken(job.bytes) + kNameTakes)) {
        return no_room();
    }
    Result<CacheStore::Draft> draft = store_->begin();
    if (!draft) {
        return std::move(draft).error();
    }
    const std::uint64_t id = ++last_copy_;
    auto role = around_.children.start_role(
        around_.copier_role, SOCK_SEQPACKET, [this, id](const SpawnEvent& event) {
            const auto found = copying_.find(id);
            if (found != copying_.end()) {
                found->second.pid = event.pid;
            }
        });
    const std::array fds{job.from.get(), draft->file.get()};
    Status sent =
        role ? send_with_descriptors(role->socket.get(), encode_copy_order(job.order), fds)
             : Status{role.error()};
    if (sent) {
        sent = around_.loop.watch(
            role->socket.get(), EPOLLIN, [this, id](auto) { on_copier(id); });
    }
    if (!sent) {
        store_->abandon(*draft);
        return sent;
    }
    Copying& copying = copying_[id];
    copying.socket = std::move(role->socket);
    copying.draft = *std::move(draft);
    copying.alarm = std::make_unique<Alarm>(around_.loop, [this, id] {
        around_.children.kill(copying_.at(id).pid, SIGKILL);
        end_copy(id, Error{Blame::node, "copying it took too long"});
    });
    copying.begun = around_.loop.now();
    copying.alarm->set(copying.begun + copy_max(0));
    copying.job = std::move(job);
    copying.job.from.reset();  // The copier has it.
    return {};
}

void NodeCache::on_copier(std::uint64_t id) {
    std::array<std::byte, kAnswerMax> answer{};
    Copying& copying = copying_.at(id);
    const int socket = copying.socket.get();
    const ssize_t got = ::recv(socket, answer.data(), answer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    const Bytes said = Bytes{answer}.first(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (const auto wanted = decode_room_question(said)) {
        if (Status let = let_write(copying, *wanted); !let) {
            around_.children.kill(copying.pid, SIGKILL);
            end_copy(id, std::move(let).error());
        }
        return;
    }
    end_copy(id,
             got > 0 ? decode_copy_answer(said)
                     : Error{Blame::node, "the copier ended without a word"});
}

/// It has something to write: others' entries go for that, and it may take as much longer.
Status NodeCache::let_write(Copying& copying, std::uint64_t bytes) {
    const std::uint64_t needed = least_taken(bytes) + kNameTakes;  // Its stamp's.
    if (bytes > copying.job.bytes || needed < copying.reserved) {
        return Error{Blame::internal, "the copier wants more than there is"};
    }
    if (Status room = make_room(needed - copying.reserved); !room) {
        return room;
    }
    shelf_.reserve(needed - copying.reserved);
    copying.reserved = needed;
    copying.alarm->set(copying.begun + copy_max(bytes));
    const std::vector<std::byte> yes = encode_room_answer();
    const ssize_t sent =
        ::send(copying.socket.get(), yes.data(), yes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? Status{} : Status{Error{Blame::node, "the copier takes no answer"}};
}

void NodeCache::end_copy(std::uint64_t id, const Result<Content>& content) {
    const auto found = copying_.find(id);
    if (found == copying_.end()) {
        return;
    }
    around_.loop.forget(found->second.socket.get());
    const Copying copying = std::move(found->second);
    copying_.erase(found);
    shelf_.unreserve(copying.reserved);
    if (!copying.job.promised) {
        copiers_.leave(copying.job.file.uid);
    }
    const Status taken = content ? take_over(copying, *content) : Status{content.error()};
    if (!taken) {
        store_->abandon(copying.draft);
        around_.log.info("a file is not kept", {{"why", taken.error().sentence()}});
    }
    if (copying.job.promised && !taken && undecided_.contains(copying.job.file)) {
        peers_->missed(copying.job.file);
    } else if (!copying.job.is_part()) {
        settle(copying.job.file, taken.ok());
    }
    begin_copies();
}

Status NodeCache::take_over(const Copying& copying, const Content& content) {
    if (copying.job.is_part()) {
        return take_over_part(copying);
    }
    if (copying.job.promised.value_or(content) != content) {
        return Error{Blame::node, "what another node sent is not what it promised"};
    }
    if (content.sum != copying.job.sum) {
        return Error{Blame::user, "it was changed after it was staged"};
    }
    const ShelfKey key{.uid = copying.job.file.uid, .content = content};
    if (shelf_.has(key)) {
        store_->abandon(copying.draft);
    } else {
        if (Status published = store_->publish(copying.draft, key); !published) {
            return published;
        }
        shelf_.put(key, CacheStore::size_of(copying.draft), ::time(nullptr));
        ++(copying.job.promised ? around_.counters.cache_fetched : around_.counters.cache_kept);
    }
    if (const auto old = shelf_.learn(key.uid, copying.job.file.stamp, content)) {
        store_->forget(key.uid, *old);
    }
    store_->remember(key.uid, copying.job.file.stamp, content);
    drop(part_of(key.uid, copying.job.file.stamp));
    // The file system's blocks and the stamp's link may take more than was thought.
    if (!make_room(0)) {
        around_.log.warn("the node cache is larger than CacheSize");
    }
    return {};
}

}  // namespace stage
