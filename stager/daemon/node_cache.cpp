#include "stager/daemon/node_cache.h"

#include "stager/daemon/cache_directory.h"
#include "stager/worker/stranger_fd.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace stage {
namespace {

constexpr std::size_t kJobsMax = 1024;  ///< Each holds a descriptor.
constexpr std::size_t kBegunMax = 512;  ///< Likewise.
/// At one time. So a user alone has two, and the next one has another, whatever hangs.
constexpr std::size_t kCopiersMax = 4;

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

NodeCache::NodeCache(Surroundings around)
    : around_{around}, begun_places_{kBegunMax}, jobs_{kJobsMax}, copiers_{kCopiersMax} {
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
                     {{"entries", shelf_.entries().size()}, {"bytes", shelf_.taken()}});
}

// ---- what workers ask

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
    const UniqueFd file = open_for(member, key);
    reply({.about = question.about,
           .content = file ? bytes_of(key.content) : std::vector<std::byte>{}},
          file.get());
}

/// If it is here. The stage uses it from then on.
UniqueFd NodeCache::open_for(Member member, const ShelfKey& key) {
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
    return file;
}

void NodeCache::drop(const ShelfKey& key) {
    if (store_ && shelf_.has(key)) {
        removed_->close(store_->remove(key, shelf_.stamps_of(key)));
        shelf_.remove(key);
    }
}

void NodeCache::leave(Member member) {
    broken_off(member);
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

void NodeCache::begin_anew(Member member) {
    broken_off(member);
    waiting_.erase(member);
}

void NodeCache::settle(const LeasedFile& file, bool is_known) {
    const bool is_undecided = undecided_.contains(file);
    if (is_undecided && !is_known && !leases_.is_kept(file)) {
        return;  // The peers' answer is still to come, and who reads it waits for that.
    }
    undecided_.erase(file);
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
    const bool is_wanted = is_on() && file && what.bytes > 0 && !shelf_.find(uid, what.stamp) &&
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

}  // namespace stage
