#include "stager/daemon/push/push_preflight.h"

#include "stager/daemon/base/loop.h"
#include "stager/link/link.h"

#include <utility>

namespace stage {
namespace {

/// So the link times out first, and its error says more.
constexpr Duration kLinkFirst = std::chrono::seconds{3};

}  // namespace

void PushPreflight::ask(std::vector<Place> places,
                        const ExamineMessage& question,
                        OnAnswer on_answer,
                        OnDone on_done) {
    places_ = std::move(places);
    question_ = encode(TreeMessage{question});
    on_answer_ = std::move(on_answer);
    on_done_ = std::move(on_done);
    basics_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            ask_more();
        }
    });
}

void PushPreflight::ask_more() {
    while (next_ < places_.size() && open_.size() < kAskedAtOnce) {
        ask_one(next_++);
    }
    if (open_.empty() && on_done_) {
        std::exchange(on_done_, nullptr)();
    }
}

void PushPreflight::ask_one(std::size_t index) {
    const Place& place = places_[index];
    auto link = dialer_.dial(place.name, place.address, [this, index] { on_change(index); });
    if (!link) {
        on_answer_(
            index,
            place.address.empty()
                ? Error{Blame::node, "Slurm does not know the node, and it has no address"}
                : link.error());
        return;
    }
    OpenQuestion& question = open_[index];
    question.silence = std::make_unique<Alarm>(basics_.loop, [this, index] {
        finish(index, Error{Blame::node, "its stagecastd fell silent; see its log"});
    });
    question.silence->set(basics_.loop.now() + basics_.config.connect_timeout + kLinkFirst);
    question.link = std::move(*link);
    question.link->send(question_);
}

void PushPreflight::on_change(std::size_t index) {
    const auto question = open_.find(index);
    if (question == open_.end()) {
        return;
    }
    Link& link = question->second.link->link();
    // One change may stand for several frames, and for the link's end behind them.
    while (const auto frame = link.receive()) {
        const auto message = decode_tree_message(*frame);
        if (!message) {
            finish(index, message.error());
            return;
        }
        if (const auto* examined = std::get_if<ExaminedMessage>(&*message)) {
            finish(index, *examined);
            return;
        }
        question->second.silence->set(basics_.loop.now() + basics_.config.connect_timeout +
                                      kLinkFirst);
    }
    if (link.state() == Link::State::closed) {
        finish(index,
               link.error().value_or(
                   Error{Blame::node, "its stagecastd closed the connection; see its log"}));
    }
}

void PushPreflight::finish(std::size_t index, const Result<ExaminedMessage>& answer) {
    const auto question = open_.find(index);
    if (question == open_.end()) {
        return;
    }
    // Destroyed later, as this may be its own callback; it must not call back until then.
    question->second.silence->set(std::nullopt);
    question->second.link->set_on_change([] {});
    basics_.loop.defer([gone = std::make_shared<OpenQuestion>(std::move(question->second))] {});
    open_.erase(question);
    on_answer_(index, answer);
    basics_.loop.defer([this, alive = std::weak_ptr<bool>{alive_}] {
        if (!alive.expired()) {
            ask_more();
        }
    });
}

}  // namespace stage
