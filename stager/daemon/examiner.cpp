#include "stager/daemon/examiner.h"

#include "stager/daemon/push_rules.h"

#include <algorithm>
#include <utility>

namespace stage {
namespace {

constexpr Duration kPulseEvery = std::chrono::seconds{1};

ExaminedMessage told_of(const Result<WorkerLook>& look) {
    return look
               ? ExaminedMessage{.sentence = {}, .bytes = look->bytes, .digest = look->digest}
               : ExaminedMessage{.sentence = look.error().sentence(), .bytes = 0, .digest = {}};
}

}  // namespace

void Examiner::on_examine(const ExamineMessage& message, std::unique_ptr<DrivenLink> link) {
    const DrivenLink* key = link.get();
    link->set_on_change([this, key] { on_change(key); });
    guests_.push_back({.link = std::move(link), .examination = nullptr, .pulse = nullptr});
    Guest& guest = guests_.back();
    auto objection = objection_to_push(services_.config, message.specs);
    if (!objection && guests_.size() > kMaxExaminations) {
        objection = "too many pushes at one time; try again";
    }
    if (objection) {
        services_.log.info("a push is refused",
                           {{"node", guest.link->link().peer_name()}, {"why", *objection}});
        on_done(key, Error{Blame::node, *objection});
        return;
    }
    guest.pulse = std::make_unique<Alarm>(services_.loop, [this, key] { pulse(key); });
    guest.pulse->set(services_.loop.now() + kPulseEvery);
    guest.examination = std::make_unique<Examination>(
        services_,
        ExamineOrder{.specs = message.specs,
                     .is_source = false,
                     .compares = message.mode == PushMode::compare,
                     .manifest = message.manifest},
        [this, key](const Result<WorkerLook>& look) { on_done(key, look); });
}

std::list<Examiner::Guest>::iterator Examiner::find(const DrivenLink* link) {
    return std::ranges::find_if(guests_,
                                [&](const Guest& one) { return one.link.get() == link; });
}

void Examiner::on_change(const DrivenLink* link) {
    const auto guest = find(link);
    if (guest == guests_.end()) {
        return;
    }
    static_cast<void>(guest->link->link().receive());  // Nothing is left to say.
    if (guest->link->link().state() == Link::State::closed) {
        guests_.erase(guest);
    }
}

void Examiner::on_done(const DrivenLink* link, const Result<WorkerLook>& look) {
    const auto guest = find(link);
    if (guest != guests_.end()) {
        guest->pulse.reset();
        guest->link->send(encode(TreeMessage{told_of(look)}));
        guest->link->finish();
        // Not from within its own callback.
        services_.loop.defer(
            [gone = std::shared_ptr<Examination>{std::move(guest->examination)}] {});
    }
}

void Examiner::pulse(const DrivenLink* link) {
    const auto guest = find(link);
    if (guest != guests_.end()) {
        guest->link->send(encode(TreeMessage{PulseMessage{}}));
        guest->pulse->set(services_.loop.now() + kPulseEvery);
    }
}

}  // namespace stage
