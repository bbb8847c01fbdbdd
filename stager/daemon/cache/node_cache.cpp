#include "stager/daemon/cache/node_cache.h"

#include "stager/cache/copier.h"
#include "stager/cache/part_copy.h"
#include "stager/daemon/base/loop.h"
#include "stager/daemon/cache/cache_directory.h"
#include "stager/messages/untrusted_fd.h"
#include "transport/os/descriptors.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <utility>
#include <vector>

namespace stage {
namespace {

constexpr std::size_t kJobsMax = 1024;  ///< Each holds a descriptor.
constexpr std::size_t kBegunMax = 512;  ///< Each holds a descriptor, too.
/// At one time. One user gets at most two, so that a copier that hangs stops no other user.
constexpr std::size_t kCopiersMax = 4;

std::int64_t seconds_now() {
    return ::time(nullptr);
}

/// Copies the question's bytes into an array of a fixed length.
template <std::size_t Size>
std::array<std::byte, Size> array_of(Bytes bytes) {
    std::array<std::byte, Size> out{};
    std::copy_n(bytes.begin(), std::min(Size, bytes.size()), out.begin());
    return out;
}

}  // namespace

NodeCache::NodeCache(const Basics& basics, std::uint32_t copier_role)
    : basics_{basics},
      copier_role_{copier_role},
      begun_places_{kBegunMax},
      jobs_{kJobsMax},
      copiers_{kCopiersMax} {
}

NodeCache::~NodeCache() {
    for (const auto& [id, copying] : copying_) {
        basics_.loop.forget(copying.socket.get());
    }
}

void NodeCache::open() {
    const Config& config = basics_.config;
    if (config.cache_size == 0) {
        return;
    }
    Result<UniqueFd> directory = open_cache_directory(config);
    if (!directory) {
        basics_.log.error("the node cache is off", {{"why", directory.error().sentence()}});
        return;
    }
    store_.emplace(*std::move(directory));
    store_->sweep(index_);
    if (!make_room(0)) {
        basics_.log.warn("the node cache is larger than CacheSize");
    }
    basics_.log.info("opened the node cache",
                     {{"entries", index_.entries().size()}, {"bytes", index_.taken()}});
}

// ---- workers' questions

void NodeCache::ask(Member member, std::uint32_t uid, const WorkerAsk& question, Reply reply) {
    const bool is_allowed = ++asked_[member] <= kMaxAsks;
    const auto content = content_of_bytes(question.about);
    if (is_allowed && content) {
        answer_content(member, {uid, *content}, question, reply);
    } else if (is_allowed && question.about.size() == SourceStamp{}.size()) {
        const LeasedFile file{.uid = uid, .stamp = array_of<32>(question.about)};
        answer_stamp(member, file, std::move(reply));
    } else {
        reply({.about = question.about}, -1);
    }
}

void NodeCache::answer_stamp(Member member, const LeasedFile& file, Reply reply) {
    const bool is_known = index_.find(file.uid, file.stamp).has_value();
    if (!is_on() || is_known || waiting_.contains(member)) {
        reply_about(file, reply);
        return;
    }
    waiting_[member] = {.file = file, .reply = std::move(reply)};
    const bool is_waited_for = leases_.holds_any(member);
    if (leases_.may_read(member, file)) {
        ask_peers(member, file, !is_waited_for);
    }
}

/// Replies only about the file that the member waits for: its turn at a file may come after it
/// has stopped waiting for it.
void NodeCache::reply_to(Member member, const LeasedFile& file) {
    const auto found = waiting_.find(member);
    if (found != waiting_.end() && found->second.file == file) {
        const Reply reply = std::move(found->second.reply);
        waiting_.erase(found);
        reply_about(file, reply);
    }
}

/// Replies with what is known now.
void NodeCache::reply_about(const LeasedFile& file, const Reply& reply) const {
    const auto content = is_on() ? index_.find(file.uid, file.stamp) : std::nullopt;
    reply({.about = {file.stamp.begin(), file.stamp.end()},
           .content = content ? bytes_of(*content) : std::vector<std::byte>{}},
          -1);
}

void NodeCache::answer_content(Member member,
                               const CacheKey& key,
                               const WorkerAsk& question,
                               const Reply& reply) {
    const UniqueFd file = open_for(member, key);
    reply({.about = question.about,
           .content = file ? bytes_of(key.content) : std::vector<std::byte>{}},
          file.get());
}

/// Opens the entry if it is here. The stage uses it from then on, so it is not evicted.
UniqueFd NodeCache::open_for(Member member, const CacheKey& key) {
    UniqueFd file;
    if (is_on() && index_.has(key)) {
        file = store_->open(key);
        if (file) {
            index_.use(key, seconds_now());
            CacheStore::mark_used(file);
            used_[member].push_back(key);
            ++basics_.counters.cache_hits;
        } else {
            drop(key);
        }
    }
    return file;
}

void NodeCache::drop(const CacheKey& key) {
    if (store_ && index_.has(key)) {
        removed_->close(store_->remove(key, index_.stamps_of(key)));
        index_.remove(key);
    }
}

void NodeCache::leave(Member member) {
    broken_off(member);
    waiting_.erase(member);
    asked_.erase(member);
    for (const CacheKey& key : std::exchange(used_[member], {})) {
        index_.leave(key);
    }
    used_.erase(member);
    for (const Leases::Next& next : leases_.leave(member, undecided_)) {
        if (!undecided_.contains(next.file)) {
            reply_to(next.reader, next.file);
        }
    }
    release_peers();
}

void NodeCache::begin_anew(Member member) {
    broken_off(member);
    waiting_.erase(member);
}

void NodeCache::settle(const LeasedFile& file, bool is_known) {
    const bool is_undecided = undecided_.contains(file);
    if (is_undecided && !is_known && !leases_.is_kept(file)) {
        return;  // The peers' answer is still to come, and the reader waits for it.
    }
    undecided_.erase(file);
    const Member reader = leases_.holder_of(file);
    const std::vector<Member> waiting = leases_.settle(file, is_known);
    if (is_undecided) {
        reply_to(reader, file);
    }
    for (const Member member : waiting) {
        reply_to(member, file);
    }
    release_peers();
}

// ---- keeping files

void NodeCache::keep(Member member,
                     std::uint32_t uid,
                     const WorkerKeep& what,
                     UntrustedFd file) {
    const LeasedFile leased{.uid = uid, .stamp = what.stamp};
    const bool is_wanted = is_on() && file && what.bytes > 0 && !index_.find(uid, what.stamp) &&
                           jobs_.push(uid,
                                      {.file = leased,
                                       .sum = what.sum,
                                       .bytes = what.bytes,
                                       .from = std::move(file),
                                       .order = {.size = what.bytes}});
    if (is_wanted) {
        leases_.keep(member, leased);
        begin_copies();
    }
}

namespace {

constexpr std::size_t kAnswerMax = 2048;

}  // namespace

/// Fetches have a limit of their own: other nodes may be slow, and must not delay local copies.
std::size_t NodeCache::fetches() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        copying_, [](const auto& one) { return one.second.job.promised.has_value(); }));
}

void NodeCache::begin_copies() {
    const auto has_copier = [this](std::uint32_t uid) { return copiers_.take(uid); };
    while (auto job = jobs_.pop(has_copier)) {
        const LeasedFile file = job->file;
        const bool is_part = job->is_part();
        const bool is_here = index_.find(file.uid, file.stamp).has_value();
        const Status begun = is_here ? Status{} : begin_copy(*job);
        if (is_here || !begun) {
            copiers_.leave(file.uid);
        }
        if (!begun) {
            basics_.log.info("cannot keep a file in the node cache",
                             {{"why", begun.error().sentence()}});
        }
        if (!is_part && (is_here || !begun)) {
            settle(file, is_here);
        }
    }
}

Status NodeCache::make_room(std::uint64_t bytes) {
    index_.set_quota(basics_.config.cache_size);
    const auto gone = index_.room_for(bytes);
    if (!gone) {
        return no_room();
    }
    for (const CacheKey& key : *gone) {
        drop(key);
        ++basics_.counters.cache_evicted;
    }
    return {};
}

Status NodeCache::begin_copy(Job& job) {
    index_.set_quota(basics_.config.cache_size);
    // (The size of a part is not known yet.)
    if (!job.is_part() && !index_.could_take(least_taken(job.bytes) + kNameTakes)) {
        return no_room();
    }
    TRY(auto draft, store_->begin());
    const std::uint64_t id = ++last_copy_;
    auto role = basics_.children.start_role(
        copier_role_, SOCK_SEQPACKET, [this, id](const SpawnEvent& event) {
            const auto found = copying_.find(id);
            if (found != copying_.end()) {
                found->second.pid = event.pid;
            }
        });
    const std::array fds{job.from.get(), draft.file.get()};
    Status sent =
        role ? send_with_descriptors(role->socket.get(), encode_copy_order(job.order), fds)
             : Status{role.error()};
    if (sent) {
        sent = basics_.loop.watch(
            role->socket.get(), EPOLLIN, [this, id](auto) { on_copier(id); });
    }
    if (!sent) {
        store_->abandon(draft);
        return sent;
    }
    Copying& copying = copying_[id];
    copying.socket = std::move(role->socket);
    copying.draft = std::move(draft);
    copying.alarm = std::make_unique<Alarm>(basics_.loop, [this, id] {
        basics_.children.kill(copying_.at(id).pid, SIGKILL);
        end_copy(id, Error{Blame::node, "copying the file took too long"});
    });
    copying.begun = basics_.loop.now();
    copying.alarm->set(copying.begun + copy_max(0));
    copying.job = std::move(job);
    copying.job.from.reset();  // The copier has its own descriptor.
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
            basics_.children.kill(copying.pid, SIGKILL);
            end_copy(id, std::move(let).error());
        }
        return;
    }
    end_copy(id,
             got > 0 ? decode_copy_answer(said)
                     : Error{Blame::node, "the copier ended without an answer"});
}

/// Evicts other entries for the bytes that the copier wants to write, and extends its deadline.
Status NodeCache::let_write(Copying& copying, std::uint64_t bytes) {
    const std::uint64_t needed = least_taken(bytes) + kNameTakes;  // The name of its stamp.
    if (bytes > copying.job.bytes || needed < copying.reserved) {
        return Error{Blame::internal, "the copier asks for more bytes than the file has"};
    }
    if (Status room = make_room(needed - copying.reserved); !room) {
        return room;
    }
    index_.reserve(needed - copying.reserved);
    copying.reserved = needed;
    copying.alarm->set(copying.begun + copy_max(bytes));
    const std::vector<std::byte> yes = encode_room_answer();
    const ssize_t sent =
        ::send(copying.socket.get(), yes.data(), yes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? Status{} : Status{Error{Blame::node, "cannot send the copier an answer"}};
}

void NodeCache::end_copy(std::uint64_t id, const Result<Content>& content) {
    const auto found = copying_.find(id);
    if (found == copying_.end()) {
        return;
    }
    basics_.loop.forget(found->second.socket.get());
    const Copying copying = std::move(found->second);
    copying_.erase(found);
    index_.unreserve(copying.reserved);
    if (!copying.job.promised) {
        copiers_.leave(copying.job.file.uid);
    }
    const Status taken = content ? take_over(copying, *content) : Status{content.error()};
    if (!taken) {
        store_->abandon(copying.draft);
        basics_.log.info("cannot keep a file in the node cache",
                         {{"why", taken.error().sentence()}});
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
        return Error{Blame::node, "another node sent other bytes than it announced"};
    }
    if (content.sum != copying.job.sum) {
        return Error{Blame::user, "the file was changed after it was staged"};
    }
    const CacheKey key{.uid = copying.job.file.uid, .content = content};
    if (index_.has(key)) {
        store_->abandon(copying.draft);
    } else {
        if (Status published = store_->publish(copying.draft, key); !published) {
            return published;
        }
        index_.put(key, CacheStore::size_of(copying.draft), ::time(nullptr));
        ++(copying.job.promised ? basics_.counters.cache_fetched : basics_.counters.cache_kept);
    }
    if (const auto old = index_.learn(key.uid, copying.job.file.stamp, content)) {
        store_->forget(key.uid, *old);
    }
    store_->remember(key.uid, copying.job.file.stamp, content);
    drop(part_of(key.uid, copying.job.file.stamp));
    // The file system's blocks and the stamp's link may take more than was estimated.
    if (!make_room(0)) {
        basics_.log.warn("the node cache is larger than CacheSize");
    }
    return {};
}

void NodeCache::seek(Member member,
                     std::uint32_t uid,
                     const SourceStamp& stamp,
                     const Reply& reply) {
    UniqueFd file;
    std::vector<std::byte> whole;
    if (++asked_[member] <= kMaxAsks) {
        const auto content = index_.find(uid, stamp);
        file = open_for(
            member, content ? CacheKey{.uid = uid, .content = *content} : part_of(uid, stamp));
        whole = content && file ? bytes_of(*content) : std::vector<std::byte>{};
    }
    reply({.about = {stamp.begin(), stamp.end()}, .content = std::move(whole)}, file.get());
}

void NodeCache::begun(Member member,
                      std::uint32_t uid,
                      const WorkerBegun& what,
                      UntrustedFd file) {
    const bool is_wanted = is_on() && file && what.bytes > 0 && what.bytes <= kPartOfMax &&
                           begun_[member].size() < kMaxBegun && begun_places_.take(uid);
    if (is_wanted) {
        begun_[member].push_back({.file = {.uid = uid, .stamp = what.stamp},
                                  .bytes = what.bytes,
                                  .from = std::move(file)});
    }
}

/// Removes and returns the files that the member has begun.
std::vector<NodeCache::Begun> NodeCache::take_begun(Member member) {
    const auto found = begun_.find(member);
    if (found == begun_.end()) {
        return {};
    }
    std::vector<Begun> all = std::move(found->second);
    begun_.erase(found);
    for (const Begun& one : all) {
        begun_places_.leave(one.file.uid);
    }
    return all;
}

void NodeCache::whole(Member member) {
    for (const Begun& one : take_begun(member)) {
        drop(part_of(one.file.uid, one.file.stamp));
    }
}

void NodeCache::broken_off(Member member) {
    for (Begun& one : take_begun(member)) {
        const std::uint32_t uid = one.file.uid;
        if (!is_on() || index_.find(uid, one.file.stamp)) {
            continue;
        }
        const CopyOrder order{
            .way = CopyWay::part, .size = one.bytes, .key = {}, .stamp = one.file.stamp};
        const bool is_in_line = jobs_.push(uid,
                                           {.file = one.file,
                                            .sum = {},
                                            .bytes = part_bytes_max(one.bytes),
                                            .from = std::move(one.from),
                                            .order = order});
        if (!is_in_line) {
            break;
        }
    }
    begin_copies();
}

/// Replaces an earlier part, unless that one has more bytes.
Status NodeCache::take_over_part(const Copying& copying) {
    const LeasedFile& file = copying.job.file;
    const CacheKey key = part_of(file.uid, file.stamp);
    const CacheIndex::Size size = CacheStore::size_of(copying.draft, true);
    const bool is_known = index_.find(file.uid, file.stamp).has_value();
    if (is_known || (index_.has(key) && index_.bytes_of(key) > size.bytes)) {
        store_->abandon(copying.draft);
        return {};
    }
    if (Status published = store_->publish(copying.draft, key); !published) {
        return published;
    }
    index_.put(key, size, ::time(nullptr));
    ++basics_.counters.cache_parts;
    basics_.log.info("keeping the received part of a file",
                     {{"uid", file.uid}, {"bytes", size.bytes}});
    if (!make_room(0)) {
        basics_.log.warn("the node cache is larger than CacheSize");
    }
    return {};
}

namespace {

constexpr std::size_t kFetchesAtOnce = 16;  ///< Each is a process.

}  // namespace

void NodeCache::set_peers(CachePeers* peers) {
    peers_ = peers;
    wanted_.clear();
    undecided_.clear();
}

/// The member that others wait for asks for all of them; on_turn() lets it read.
void NodeCache::ask_peers(Member member, const LeasedFile& file, bool may_wait) {
    const bool is_reader = peers_ != nullptr && leases_.holder_of(file) == member;
    if (is_reader && wanted_.insert(file).second) {
        undecided_.insert(file);
        peers_->ask(file, may_wait);
    } else if (!is_reader || !undecided_.contains(file)) {
        reply_to(member, file);
    }
}

void NodeCache::on_turn(const LeasedFile& file) {
    if (undecided_.erase(file) > 0) {
        reply_to(leases_.holder_of(file), file);
    }
}

/// Tells the peers about files that no stage of this node reads or waits for any more.
void NodeCache::release_peers() {
    const std::set<LeasedFile> wanted = wanted_;
    for (const LeasedFile& file : wanted) {
        if (leases_.holder_of(file) == 0) {
            wanted_.erase(file);
            undecided_.erase(file);
            peers_->settle(file, index_.find(file.uid, file.stamp).has_value());
        }
    }
}

Status NodeCache::take_in(const LeasedFile& file,
                          const Content& content,
                          const CopyOrder& order,
                          UniqueFd socket) {
    if (!is_on()) {
        return Error{Blame::node, "the node cache is off"};
    }
    if (fetches() >= kFetchesAtOnce) {
        return Error{Blame::node, "too many files are being fetched from other nodes"};
    }
    Job job{.file = file,
            .sum = content.sum,
            .bytes = order.size,
            .from = UntrustedFd{std::move(socket)},
            .promised = content,
            .order = order};
    return begin_copy(job);
}

std::optional<Content> NodeCache::content_of(const LeasedFile& file) const {
    return is_on() ? index_.find(file.uid, file.stamp) : std::nullopt;
}

std::optional<NodeCache::ServedFile> NodeCache::serve(const LeasedFile& file) {
    const auto content = content_of(file);
    if (!content) {
        return std::nullopt;
    }
    const CacheKey key{.uid = file.uid, .content = *content};
    ServedFile served{
        .content = *content, .bytes = index_.bytes_of(key), .file = store_->open(key)};
    if (!served.file) {
        drop(key);
        return std::nullopt;
    }
    CacheStore::mark_used(served.file);
    return served;
}

}  // namespace stage
