#include "stager/cache/node_leases.h"

#include <algorithm>
#include <utility>

namespace stage {

/// Forgets a file that is held but not being read or fetched: at worst it is read once more.
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
    if (requests_.contains(asker)) {
        return {};
    }
    if (!files_.contains(file) && !make_room()) {
        return {{.to = asker, .holder = {}}};
    }
    File& here = files_[file];
    here.used = ++uses_;
    // A node does not ask for a file that it still has.
    std::erase_if(here.holders,
                  [&](const Holder& holder) { return holder.place.node == own.node; });
    here.waiting.push_back(asker);
    requests_[asker] = {.file = file,
                        .own = std::move(own),
                        .may_wait = may_wait,
                        .state = State::waiting,
                        .from = {}};
    return go_on(file);
}

void NodeLeases::release(Asker asker, Request& request, File& file) {
    if (request.state == State::waiting) {
        std::erase(file.waiting, asker);
    } else if (request.state == State::reading && file.reader == asker) {
        file.reader = 0;
    } else if (request.state == State::fetching) {
        --file.fetching;
        const auto holder = std::ranges::find_if(file.holders, [&](const Holder& one) {
            return one.place.node == request.from && one.serving > 0;
        });
        if (holder != file.holders.end()) {
            --holder->serving;
        }
    }
    request.state = State::done;
}

NodeLeases::Words NodeLeases::held(Asker asker) {
    const auto found = requests_.find(asker);
    if (found == requests_.end()) {
        return {};
    }
    Request& request = found->second;
    const LeasedFile name = request.file;
    File& file = files_[name];
    release(asker, request, file);
    file.used = ++uses_;
    file.vain_readers = 0;
    const bool is_known = std::ranges::any_of(file.holders, [&](const Holder& holder) {
        return holder.place.node == request.own.node;
    });
    if (!is_known && file.holders.size() < kFileHoldersMax) {
        file.holders.push_back({.place = request.own, .serving = 0});
    }
    return go_on(name);
}

NodeLeases::Words NodeLeases::missed(Asker asker) {
    const auto found = requests_.find(asker);
    if (found == requests_.end() || found->second.state != State::fetching) {
        return {};
    }
    Request& request = found->second;
    const LeasedFile name = request.file;
    File& file = files_[name];
    release(asker, request, file);
    std::erase_if(file.holders,
                  [&](const Holder& holder) { return holder.place.node == request.from; });
    request.state = State::waiting;
    file.waiting.push_front(asker);
    return go_on(name);
}

NodeLeases::Words NodeLeases::leave(Asker asker) {
    const auto found = requests_.find(asker);
    if (found == requests_.end()) {
        return {};
    }
    Request request = std::move(found->second);
    requests_.erase(found);
    const auto file = files_.find(request.file);
    if (file == files_.end()) {
        return {};
    }
    if (request.state == State::reading && file->second.reader == asker) {
        ++file->second.vain_readers;
    }
    release(asker, request, file->second);
    return go_on(request.file);
}

NodeLeases::Holder* NodeLeases::idle_holder(File& file) {
    const auto found = std::ranges::min_element(file.holders, {}, &Holder::serving);
    return found != file.holders.end() && found->serving < kServedAtOnce ? &*found : nullptr;
}

/// Returns false if the node continues to wait.
bool NodeLeases::tell(Asker asker, File& file, Words& words) {
    Request& request = requests_.at(asker);
    if (Holder* holder = idle_holder(file); holder != nullptr) {
        ++holder->serving;
        ++file.fetching;
        request.state = State::fetching;
        request.from = holder->place.node;
        words.push_back({.to = asker, .holder = holder->place});
        return true;
    }
    const bool is_free = file.reader == 0;
    const bool may_wait = request.may_wait && file.vain_readers < kVainReadersMax;
    if (!file.holders.empty() || (!is_free && may_wait)) {
        return false;
    }
    request.state = is_free ? State::reading : State::done;
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
