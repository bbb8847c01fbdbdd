#include "stager/files/targets/sink_targets.h"

#include <utility>

namespace stage {
namespace {

/// How many targets keep their descriptors (two of a file) all the time.
constexpr std::size_t kMaxAwake = 128;

}  // namespace

void SinkTargets::set_order(std::size_t index,
                            const SinkOrder& order,
                            std::uint16_t spec,
                            const std::string& list_directory) {
    const std::string& root = order.target.place.root;
    SinkTarget& entry = entries_[index];
    entry.spec = spec;
    entry.is_optional = order.is_optional;
    entry.is_temporary = order.is_temporary;
    entry.is_library = order.is_library;
    entry.is_of_program = order.is_of_program;
    entry.is_for_all = order.is_for_all;
    entry.same_as = order.same_as;
    entry.is_outside = root != list_directory && !root.starts_with(list_directory + '/');
    entry.needed_paths = order.needed_paths;
    entry.where = order.where;
}

void SinkTargets::put(std::size_t index, std::unique_ptr<Target> target) {
    SinkTarget& entry = entries_[index];
    entry.target = std::move(target);
    if (const auto& made = entry.target->directory().made) {
        made_.emplace(entry.spec, made);
    }
    static_cast<void>(use(index));
}

std::string SinkTargets::path(std::size_t index) const {
    return entries_[index].target ? entries_[index].target->path() : std::string{};
}

std::size_t SinkTargets::file_count() const {
    std::size_t count = 0;
    for (const SinkTarget& entry : entries_) {
        count += entry.target ? entry.target->file_count() : 0;
    }
    return count;
}

Target* SinkTargets::use(std::size_t index) const {
    Target* before = entries_[used_].target.get();
    if (used_ != index && used_ >= kMaxAwake && before != nullptr) {
        before->rest();
    }
    used_ = index;
    return entries_[index].target.get();
}

Status SinkTargets::each(Status (Target::*step)()) {
    for (std::size_t index = 0; index < entries_.size(); ++index) {
        Target* target = use(index);
        Status done = target != nullptr ? (target->*step)() : Status{};
        if (!done) {
            done = give_up(index, std::move(done).error());
        }
        if (!done) {
            return done;
        }
    }
    return {};
}

Status SinkTargets::give_names() {
    const std::size_t count = entries_.size();
    for (std::size_t i = 0; i < 2 * count; ++i) {
        const std::size_t index = i % count;
        Target* target = use(index);
        const bool is_next = target != nullptr && entries_[index].is_library == (i < count);
        Status named = is_next ? target->appear() : Status{};
        entries_[index].is_named = entries_[index].is_named || (is_next && named);
        if (!named) {
            named = give_up(index, std::move(named).error());
        }
        if (!named) {
            return named;
        }
    }
    return {};
}

Status SinkTargets::give_up(std::size_t index, Error why) {
    const std::string& where = entries_[index].where;
    return end_entry(index, where.empty() ? std::move(why) : std::move(why).within(where));
}

Status SinkTargets::end_entry(std::size_t index, Error why) {
    SinkTarget& entry = entries_[index];
    entry.target.reset();
    if (!entry.is_optional) {
        failure_ = why;
        return why;
    }
    if (!entry.is_of_program || !is_given_up(entry.spec)) {
        warnings_.push_back(std::move(why));
    }
    if (entry.is_of_program) {
        give_up_program(entry.spec);
    }
    return {};
}

void SinkTargets::give_up_program(std::uint16_t spec) {
    given_up_.insert(spec);
    for (SinkTarget& entry : entries_) {
        if (entry.is_of_program && entry.spec == spec && entry.target && !entry.is_named) {
            entry.target.reset();
        }
    }
    made_.erase(spec);
}

}  // namespace stage
