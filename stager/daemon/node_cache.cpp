#include "stager/daemon/node_cache.h"

#include "stager/cache/copier.h"
#include "stager/daemon/cache_directory.h"
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

constexpr std::size_t kCopiesAtOnce = 2;
constexpr std::size_t kJobsMax = 64;  ///< Each holds a descriptor.
constexpr std::size_t kAnswerMax = 2048;

std::int64_t seconds_now() {
    return ::time(nullptr);
}

/// An array of the question's own length.
template <std::size_t Size>
std::array<std::byte, Size> array_of(Bytes bytes) {
    std::array<std::byte, Size> out{};
    std::copy_n(bytes.begin(), std::min(Size, bytes.size()), out.begin());
    return out;
}

}  // namespace

NodeCache::NodeCache(Surroundings around) : around_{around} {
}

NodeCache::~NodeCache() {
    for (const auto& [id, copying] : copying_) {
        around_.loop.forget(copying.socket.get());
    }
}

void NodeCache::open() {
    const Config& config = around_.config;
    if (config.cache_size == 0) {
        return;
    }
    Result<UniqueFd> directory = open_cache_directory(config);
    if (!directory) {
        around_.log.error("the node cache is off", {{"why", directory.error().sentence()}});
        return;
    }
    store_.emplace(*std::move(directory));
    store_->sweep(shelf_);
    if (!make_room(0)) {
        around_.log.warn("the node cache is larger than CacheSize");
    }
    around_.log.info("the node cache",
                     {{"entries", shelf_.entries().size()}, {"bytes", shelf_.bytes()}});
}

// ---- what workers ask

void NodeCache::ask(Member member, std::uint32_t uid, const WorkerAsk& question, Reply reply) {
    if (++asked_[member] > kMaxAsks) {
        reply({.about = question.about}, -1);
    } else if (const auto content = content_of_bytes(question.about)) {
        answer_content(member, {uid, *content}, question, reply);
    } else if (question.about.size() == SourceStamp{}.size()) {
        const LeasedFile file{.uid = uid, .stamp = array_of<32>(question.about)};
        answer_stamp(member, file, std::move(reply));
    } else {
        reply({.about = question.about}, -1);
    }
}

void NodeCache::answer_stamp(Member member, const LeasedFile& file, Reply reply) {
    const bool is_known = shelf_.find(file.uid, file.stamp).has_value();
    if (!is_on() || is_known || waiting_.contains(member)) {
        tell(file, reply);
        return;
    }
    waiting_[member] = {.file = file, .reply = std::move(reply)};
    const bool is_waited_for = leases_.holds_any(member);
    if (leases_.may_read(member, file)) {
        ask_peers(member, file, !is_waited_for);
    }
}

/// Only of what it waits for: its turn at a file may come after its patience with it.
void NodeCache::tell(Member member, const LeasedFile& file) {
    const auto found = waiting_.find(member);
    if (found != waiting_.end() && found->second.file == file) {
        const Reply reply = std::move(found->second.reply);
        waiting_.erase(found);
        tell(file, reply);
    }
}

/// What is known now.
void NodeCache::tell(const LeasedFile& file, const Reply& reply) const {
    const auto content = is_on() ? shelf_.find(file.uid, file.stamp) : std::nullopt;
    reply({.about = {file.stamp.begin(), file.stamp.end()},
           .content = content ? bytes_of(*content) : std::vector<std::byte>{}},
          -1);
}

void NodeCache::answer_content(Member member,
                               const ShelfKey& key,
                               const WorkerAsk& question,
                               const Reply& reply) {
    UniqueFd file;
    if (is_on() && shelf_.has(key)) {
        file = store_->open(key);
        if (file) {
            shelf_.use(key, seconds_now());
            CacheStore::mark_used(file);
            used_[member].push_back(key);
            ++around_.counters.cache_hits;
        } else {
            drop(key);
        }
    }
    reply({.about = question.about,
           .content = file ? bytes_of(key.content) : std::vector<std::byte>{}},
          file.get());
}

void NodeCache::drop(const ShelfKey& key) {
    if (store_ && shelf_.has(key)) {
        store_->remove(key, shelf_.stamps_of(key));
        shelf_.remove(key);
    }
}

void NodeCache::leave(Member member) {
    waiting_.erase(member);
    asked_.erase(member);
    for (const ShelfKey& key : std::exchange(used_[member], {})) {
        shelf_.leave(key);
    }
    used_.erase(member);
    for (const Leases::Next& next : leases_.leave(member, undecided_)) {
        if (!undecided_.contains(next.file)) {
            tell(next.reader, next.file);
        }
    }
    release_peers();
}

void NodeCache::settle(const LeasedFile& file, bool is_known) {
    const bool is_undecided = undecided_.contains(file);
    if (is_undecided && !is_known) {
        return;  // The peers' answer is still to come.
    }
    const Member reader = leases_.holder_of(file);
    const std::vector<Member> told = leases_.settle(file, is_known);
    if (is_undecided) {
        tell(reader, file);
    }
    for (const Member member : told) {
        tell(member, file);
    }
    release_peers();
}

// ---- what is kept

void NodeCache::keep(Member member,
                     std::uint32_t uid,
                     const WorkerKeep& what,
                     StrangerFd file) {
    const LeasedFile leased{.uid = uid, .stamp = what.stamp};
    const bool is_wanted = is_on() && file && what.bytes > 0 && jobs_.size() < kJobsMax &&
                           !shelf_.find(uid, what.stamp);
    if (!is_wanted) {
        return;
    }
    leases_.keep(member, leased);
    jobs_.push_back({.file = leased,
                     .sum = what.sum,
                     .bytes = what.bytes,
                     .from = std::move(file),
                     .order = {.size = what.bytes}});
    begin_copies();
}

/// What other nodes send: they may be slow, and what is kept here doesn't wait for them.
std::size_t NodeCache::fetches() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        copying_, [](const auto& one) { return one.second.job.promised.has_value(); }));
}

void NodeCache::begin_copies() {
    while (!jobs_.empty() && copying_.size() - fetches() < kCopiesAtOnce) {
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        const LeasedFile file = job.file;
        const bool is_here = shelf_.find(file.uid, file.stamp).has_value();
        const Status begun = is_here ? Status{} : begin_copy(job);
        if (!begun) {
            around_.log.info("a file is not kept", {{"why", begun.error().sentence()}});
        }
        if (is_here || !begun) {
            settle(file, is_here);
        }
    }
}

Status NodeCache::make_room(std::uint64_t bytes) {
    shelf_.set_quota(around_.config.cache_size);
    const auto gone = shelf_.room_for(bytes);
    if (!gone) {
        return Error{Blame::user, "CacheSize has no room for it"};
    }
    for (const ShelfKey& key : *gone) {
        drop(key);
        ++around_.counters.cache_evicted;
    }
    return {};
}

Status NodeCache::begin_copy(Job& job) {
    if (Status room = make_room(job.bytes); !room) {
        return room;
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
            role->socket.get(), EPOLLIN, [this, id](auto) { on_copied(id); });
    }
    if (!sent) {
        store_->abandon(*draft);
        return sent;
    }
    Copying& copying = copying_[id];
    shelf_.reserve(job.bytes);
    copying.socket = std::move(role->socket);
    copying.draft = *std::move(draft);
    copying.alarm = std::make_unique<Alarm>(around_.loop, [this, id] {
        around_.children.kill(copying_.at(id).pid, SIGKILL);
        end_copy(id, Error{Blame::node, "copying it took too long"});
    });
    copying.alarm->set(around_.loop.now() + copy_max(job.bytes));
    copying.job = std::move(job);
    copying.job.from.reset();  // The copier has it.
    return {};
}

void NodeCache::on_copied(std::uint64_t id) {
    std::array<std::byte, kAnswerMax> answer{};
    const int socket = copying_.at(id).socket.get();
    const ssize_t got = ::recv(socket, answer.data(), answer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    end_copy(id,
             got > 0 ? decode_copy_answer(Bytes{answer}.first(static_cast<std::size_t>(got)))
                     : Error{Blame::node, "the copier ended without a word"});
}

void NodeCache::end_copy(std::uint64_t id, const Result<Content>& content) {
    const auto found = copying_.find(id);
    if (found == copying_.end()) {
        return;
    }
    around_.loop.forget(found->second.socket.get());
    const Copying copying = std::move(found->second);
    copying_.erase(found);
    shelf_.unreserve(copying.job.bytes);
    const Status taken = content ? take_over(copying, *content) : Status{content.error()};
    if (!taken) {
        store_->abandon(copying.draft);
        around_.log.info("a file is not kept", {{"why", taken.error().sentence()}});
    }
    if (copying.job.promised && !taken && undecided_.contains(copying.job.file)) {
        peers_->missed(copying.job.file);
    } else {
        settle(copying.job.file, taken.ok());
    }
    begin_copies();
}

Status NodeCache::take_over(const Copying& copying, const Content& content) {
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
        shelf_.put(key, copying.job.bytes, seconds_now());
        ++(copying.job.promised ? around_.counters.cache_fetched : around_.counters.cache_kept);
    }
    if (const auto old = shelf_.learn(key.uid, copying.job.file.stamp, content)) {
        store_->forget(key.uid, *old);
    }
    store_->remember(key.uid, copying.job.file.stamp, content);
    return {};
}

}  // namespace stage
