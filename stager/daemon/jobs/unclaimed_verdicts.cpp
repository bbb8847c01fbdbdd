#include "stager/daemon/jobs/unclaimed_verdicts.h"

#include <algorithm>
#include <utility>

namespace stage {

void UnclaimedVerdicts::add(Entry entry, Instant now) {
    std::erase_if(entries_, [&](const Entry& one) { return now >= one.until; });
    remove(entry.key);
    if (entry.verdict.sentence.size() > kMaxSentence) {
        entry.verdict.sentence.resize(kMaxSentence);
        entry.verdict.sentence.shrink_to_fit();
    }
    entries_.push_back(std::move(entry));
    if (entries_.size() > kMax) {
        entries_.pop_front();
    }
}

const UnclaimedVerdicts::Entry* UnclaimedVerdicts::find(const StageKey& key,
                                                        Instant now) const {
    const auto found = std::ranges::find(entries_, key, &Entry::key);
    return found == entries_.end() || now >= found->until ? nullptr : &*found;
}

void UnclaimedVerdicts::remove(const StageKey& key) {
    std::erase_if(entries_, [&](const Entry& one) { return one.key == key; });
}

void UnclaimedVerdicts::remove_job(std::uint32_t job_id, std::uint32_t step_id) {
    std::erase_if(entries_, [&](const Entry& one) {
        return one.key.job_id == job_id && (step_id == kWholeJob || one.key.step_id == step_id);
    });
}

}  // namespace stage
