#include "stager/cache/node_leases.h"

#include <algorithm>
#include <utility>

namespace stage {

/// Who only holds a file can be forgotten: it will be read once more.
bool NodeLeases::make_room() {
    if (files_.size() < kLeasedFilesMax) {
        return true;
    }
    auto oldest = files_.end();
    for (auto one = files_.begin(); one != files_.end(); ++one) {
        const File& file = one->second;
        const bool is_idle = file.reader == 0 && file.fetching == 0 && file.waiting.empty();
        if (is_idle && (oldest == files_.end() || file.used < oldest->second.used)) {
            oldest = one;
        }
    }
    if (oldest == files_.end()) {
        return false;
    }
    files_.erase(oldest);
    return true;
}

NodeLeases::Words NodeLeases::ask(Asker asker,
                                  Place own,
                                  const LeasedFile& file,
                                  bool may_wait) {
    if (guests_.contains(asker)) {
        return {};
    }
    if (!files_.contains(file) && !make_room()) {
        return {{.to = asker, .holder = {}}};
    }
    File& here = files_[file];
    here.used = ++uses_;
    // What it has it would not ask for.
    std::erase_if(here.holders,
                  [&](const Holder& holder) { return holder.place.node == own.node; });
    here.waiting.push_back(asker);
    guests_[asker] = {.file = file,
                      .own = std::move(own),
                      .may_wait = may_wait,
                      .state = State::waiting,
                      .from = {}};
    return go_on(file);
}

void NodeLeases::release(Asker asker, Guest& guest, File& file) {
    if (guest.state == State::waiting) {
        std::erase(file.waiting, asker);
    } else if (guest.state == State::reading && file.reader == asker) {
        file.reader = 0;
    } else if (guest.state == State::fetching) {
        --file.fetching;
        const auto holder = std::ranges::find_if(file.holders, [&](const Holder& one) {
            return one.place.node == guest.from && one.serving > 0;
        });
        if (holder != file.holders.end()) {
            --holder->serving;
        }
    }
    guest.state = State::done;
}

NodeLeases::Words NodeLeases::held(Asker asker) {
    const auto found = guests_.find(asker);
    if (found == guests_.end()) {
        return {};
    }
    Guest& guest = found->second;
    const LeasedFile name = guest.file;
    File& file = files_[name];
    release(asker, guest, file);
    file.used = ++uses_;
    file.vain_readers = 0;
    const bool is_known = std::ranges::any_of(file.holders, [&](const Holder& holder) {
        return holder.place.node == guest.own.node;
    });
    if (!is_known && file.holders.size() < kFileHoldersMax) {
        file.holders.push_back({.place = guest.own, .serving = 0});
    }
    return go_on(name);
}

NodeLeases::Words NodeLeases::missed(Asker asker) {
    const auto found = guests_.find(asker);
    if (found == guests_.end() || found->second.state != State::fetching) {
        return {};
    }
    Guest& guest = found->second;
    const LeasedFile name = guest.file;
    File& file = files_[name];
    release(asker, guest, file);
    std::erase_if(file.holders,
                  [&](const Holder& holder) { return holder.place.node == guest.from; });
    guest.state = State::waiting;
    file.waiting.push_front(asker);
    return go_on(name);
}

NodeLeases::Words NodeLeases::leave(Asker asker) {
    const auto found = guests_.find(asker);
    if (found == guests_.end()) {
        return {};
    }
    Guest guest = std::move(found->second);
    guests_.erase(found);
    const auto file = files_.find(guest.file);
    if (file == files_.end()) {
        return {};
    }
    if (guest.state == State::reading && file->second.reader == asker) {
        ++file->second.vain_readers;
    }
    release(asker, guest, file->second);
    return go_on(guest.file);
}

NodeLeases::Holder* NodeLeases::idle_holder(File& file) {
    const auto found = std::ranges::min_element(file.holders, {}, &Holder::serving);
    return found != file.holders.end() && found->serving < kServedAtOnce ? &*found : nullptr;
}

/// False if it goes on waiting.
bool NodeLeases::tell(Asker asker, File& file, Words& words) {
    Guest& guest = guests_.at(asker);
    if (Holder* holder = idle_holder(file); holder != nullptr) {
        ++holder->serving;
        ++file.fetching;
        guest.state = State::fetching;
        guest.from = holder->place.node;
        words.push_back({.to = asker, .holder = holder->place});
        return true;
    }
    const bool is_free = file.reader == 0;
    const bool may_wait = guest.may_wait && file.vain_readers < kVainReadersMax;
    if (!file.holders.empty() || (!is_free && may_wait)) {
        return false;
    }
    guest.state = is_free ? State::reading : State::done;
    file.reader = is_free ? asker : file.reader;
    words.push_back({.to = asker, .holder = {}});
    return true;
}

NodeLeases::Words NodeLeases::go_on(const LeasedFile& name) {
    const auto found = files_.find(name);
    File& file = found->second;
    Words words;
    std::erase_if(file.waiting, [&](Asker asker) { return tell(asker, file, words); });
    const bool is_over =
        file.reader == 0 && file.fetching == 0 && file.waiting.empty() && file.holders.empty();
    if (is_over) {
        files_.erase(found);
    }
    return words;
}

}  // namespace stage
