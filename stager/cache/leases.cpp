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

bool Leases::may_read(Holder asker, const LeasedFile& file) {
    const auto found = leases_.find(file);
    if (found == leases_.end()) {
        leases_[file].holder = asker;
        return true;
    }
    if (found->second.holder == asker || holds_any(asker)) {
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

std::vector<Leases::Holder> Leases::settle(const LeasedFile& file, bool is_known) {
    const auto found = leases_.find(file);
    if (found == leases_.end()) {
        return {};
    }
    Lease& lease = found->second;
    std::vector<Holder> told;
    if (is_known) {
        told.assign(lease.waiting.begin(), lease.waiting.end());
    } else if (!lease.waiting.empty()) {
        told.push_back(lease.waiting.front());
        lease.holder = lease.waiting.front();
        lease.waiting.pop_front();
        lease.is_kept = false;
        return told;
    }
    leases_.erase(found);
    return told;
}

std::vector<Leases::Next> Leases::leave(Holder holder) {
    std::vector<LeasedFile> ended;
    for (auto& [file, lease] : leases_) {
        std::erase(lease.waiting, holder);
        if (lease.holder == holder && !lease.is_kept) {
            ended.push_back(file);
        }
    }
    std::vector<Next> next;
    for (const LeasedFile& file : ended) {
        for (const Holder reader : settle(file, false)) {
            next.push_back({.file = file, .reader = reader});
        }
    }
    return next;
}

}  // namespace stage
