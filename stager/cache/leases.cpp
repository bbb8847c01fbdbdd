#include "stager/cache/leases.h"

#include <algorithm>

namespace stage {

bool Leases::holds_any(Holder holder) const {
    return std::ranges::any_of(
        leases_, [holder](const auto& lease) { return lease.second.holder == holder; });
}

Leases::Holder Leases::holder_of(const LeasedFile& file) const {
    const auto found = leases_.find(file);
    return found == leases_.end() ? 0 : found->second.holder;
}

bool Leases::has_room_for(std::uint32_t uid) const {
    std::size_t of_user = 0;
    for (auto one = leases_.lower_bound({.uid = uid, .stamp = {}});
         one != leases_.end() && one->first.uid == uid;
         ++one) {
        ++of_user;
    }
    return leases_.size() < kLeasesMax && of_user < kLeasesOfUserMax;
}

bool Leases::may_read(Holder asker, const LeasedFile& file) {
    const auto found = leases_.find(file);
    if (found == leases_.end()) {
        if (has_room_for(file.uid)) {
            leases_[file].holder = asker;
        }
        return true;
    }
    if (found->second.holder == asker || found->second.vain_readers >= kVainReadersMax ||
        holds_any(asker)) {
        return true;
    }
    found->second.waiting.push_back(asker);
    return false;
}

void Leases::keep(Holder holder, const LeasedFile& file) {
    Lease& lease = leases_[file];
    if (lease.holder == 0 || lease.holder == holder) {
        lease.holder = holder;
        lease.is_kept = true;
    }
}

bool Leases::is_kept(const LeasedFile& file) const {
    const auto found = leases_.find(file);
    return found != leases_.end() && found->second.is_kept;
}

/// Passes the lease on to the next stage, or to all that wait; the first one becomes the
/// holder.
std::vector<Leases::Holder> Leases::pass_on(const LeasedFile& file, bool to_all) {
    Lease& lease = leases_.at(file);
    if (lease.waiting.empty()) {
        leases_.erase(file);
        return {};
    }
    const auto end = to_all ? lease.waiting.end() : lease.waiting.begin() + 1;
    std::vector<Holder> to_notify{lease.waiting.begin(), end};
    lease.waiting.erase(lease.waiting.begin(), end);
    lease.holder = to_notify.front();
    lease.is_kept = false;
    return to_notify;
}

std::vector<Leases::Holder> Leases::settle(const LeasedFile& file, bool is_known) {
    const auto found = leases_.find(file);
    if (found == leases_.end()) {
        return {};
    }
    Lease& lease = found->second;
    if (is_known) {
        std::vector<Holder> to_notify{lease.waiting.begin(), lease.waiting.end()};
        leases_.erase(found);
        return to_notify;
    }
    // Otherwise a file that the cache has no room for would be read by one stage after another.
    return pass_on(file, ++lease.vain_readers >= kVainReadersMax);
}

std::vector<Leases::Next> Leases::leave(Holder holder, const std::set<LeasedFile>& undecided) {
    std::vector<LeasedFile> ended;
    for (auto& [file, lease] : leases_) {
        std::erase(lease.waiting, holder);
        if (lease.holder == holder && !lease.is_kept) {
            ended.push_back(file);
        }
    }
    std::vector<Next> next;
    for (const LeasedFile& file : ended) {
        const bool is_early = undecided.contains(file);
        for (const Holder reader : is_early ? pass_on(file, false) : settle(file, false)) {
            next.push_back({.file = file, .reader = reader});
        }
    }
    return next;
}

}  // namespace stage
