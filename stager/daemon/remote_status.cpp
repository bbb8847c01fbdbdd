#include "stager/daemon/remote_status.h"

#include "stager/daemon/base/loop.h"
#include "stager/link/link.h"

#include <algorithm>
#include <utility>

namespace stage {

RemoteStatus::RemoteStatus(const Basics& basics,
                           const NodeAddresses& addresses,
                           LinkDialer& dialer)
    : basics_{basics},
      addresses_{addresses},
      dialer_{dialer},
      asker_{basics.loop, basics.children},
      alarm_{basics.loop, [this] { finish(std::nullopt); }} {
}

void RemoteStatus::ask(const ReportQuestion& question,
                       const std::string& node,
                       OnReport on_report) {
    question_ = question;
    on_report_ = std::move(on_report);
    alarm_.set(basics_.loop.now() + kRemoteStatusMax);
    const auto known = addresses_.of(node);
    if (known) {
        connect(node, *known);
        return;
    }
    asker_.ask(
        ResolveQuestion{node},
        [this](const Result<SlurmAnswer>& answer) {
            const auto* nodes =
                answer ? std::get_if<std::vector<SlurmNode>>(&*answer) : nullptr;
            if (nodes == nullptr || nodes->size() != 1) {
                finish(std::nullopt);
            } else {
                connect(nodes->front().name, nodes->front().address);
            }
        },
        kRemoteStatusMax);
}

void RemoteStatus::connect(const std::string& node, const std::string& host) {
    auto link = dialer_.dial(node, host, [this] { on_change(); });
    if (!link) {
        alarm_.set(basics_.loop.now());  // The answer comes later, from the loop.
        return;
    }
    link_ = std::move(*link);
    link_->send(encode(TreeMessage{question_}));
}

void RemoteStatus::on_change() {
    const auto frame = link_->link().receive();
    const auto message =
        frame ? decode_tree_message(*frame)
              : Result<TreeMessage>{Error{Blame::node, "it closed the connection"}};
    if (const auto* answer = message ? std::get_if<ReportMessage>(&*message) : nullptr) {
        finish(answer->json);
    } else if (frame || link_->link().state() == Link::State::closed) {
        finish(std::nullopt);
    }
}

void RemoteStatus::finish(std::optional<std::string> report) {
    alarm_.set(std::nullopt);
    link_.reset();  // First, so that its end causes no second answer.
    if (const OnReport call = std::exchange(on_report_, nullptr)) {
        call(std::move(report));
    }
}

bool RemoteStatuses::ask(const ReportQuestion& question,
                         const std::string& node,
                         RemoteStatus::OnReport on_report) {
    const auto of_user = std::ranges::count_if(
        asked_, [&](const auto& one) { return one.second.uid == question.uid; });
    const bool is_one_too_many =
        question.uid != 0 && static_cast<std::size_t>(of_user) >= kRemoteStatusesOfUserMax;
    if (is_one_too_many || asked_.size() >= kRemoteStatusesMax) {
        return false;
    }
    const std::uint64_t id = ++last_;
    const auto status = std::make_shared<RemoteStatus>(basics_, addresses_, dialer_);
    asked_[id] = {.uid = question.uid, .status = status};
    status->ask(question, node, [this, id, on_report = std::move(on_report)](auto report) {
        // Not within its own callback.
        basics_.loop.defer([gone = std::move(asked_[id].status)] {});
        asked_.erase(id);
        on_report(std::move(report));
    });
    return true;
}

}  // namespace stage
