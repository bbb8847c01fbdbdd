#include "stager/daemon/planning/root_probe.h"

#include "stager/daemon/base/loop.h"
#include "stager/link/link.h"

#include <array>
#include <utility>

namespace stage {

RootProbe::RootProbe(const Basics& basics, const NodeAddresses& addresses, LinkDialer& dialer)
    : basics_{basics},
      addresses_{addresses},
      dialer_{dialer},
      asker_{basics.loop, basics.children},
      alarm_{basics.loop, [this] { finish(Said::nothing, "its stagecastd is silent"); }} {
}

void RootProbe::ask(const AskMessage& question, const std::string& node, OnAnswer on_answer) {
    const auto known = addresses_.of(node);
    if (known) {
        ask(question, SlurmNode{.name = node, .address = *known}, std::move(on_answer));
        return;
    }
    question_ = question;
    on_answer_ = std::move(on_answer);
    asker_.ask(ResolveQuestion{node},
               [this](const Result<SlurmAnswer>& answer) { on_resolved(answer); });
}

void RootProbe::on_resolved(const Result<SlurmAnswer>& answer) {
    const auto* nodes = answer ? std::get_if<std::vector<SlurmNode>>(&*answer) : nullptr;
    if (nodes == nullptr || nodes->size() != 1) {
        finish(Said::nothing, answer ? "it has no address" : answer.error().sentence());
        return;
    }
    connect(nodes->front());
}

void RootProbe::ask(const AskMessage& question, const SlurmNode& node, OnAnswer on_answer) {
    question_ = question;
    on_answer_ = std::move(on_answer);
    connect(node);
}

void RootProbe::connect(const SlurmNode& node) {
    auto link = dialer_.dial(node.name, node.address, [this] { on_change(); });
    if (!link) {
        finish(Said::nothing, link.error().sentence());
        return;
    }
    link_ = std::move(*link);
    link_->send(encode(question_));
    const Duration for_slurm = question_.request ? kSlurmAnswerMax : Duration{};
    alarm_.set(basics_.loop.now() + 2 * basics_.config.connect_timeout + for_slurm);
}

void RootProbe::on_change() {
    const auto frame = link_->link().receive();
    const auto message =
        frame ? decode_tree_message(*frame)
              : Result<TreeMessage>{Error{Blame::node, "it closed the connection"}};
    if (const auto* tell = message ? std::get_if<TellMessage>(&*message) : nullptr) {
        constexpr std::array<Said, 3> kSaid{Said::unannounced, Said::announced, Said::queued};
        finish(kSaid.at(static_cast<std::size_t>(tell->word)), "");
    } else if (frame && !message) {
        finish(Said::nothing, message.error().sentence());
    } else if (frame || link_->link().state() == Link::State::closed) {
        const auto& error = link_->link().error();
        finish(Said::nothing,
               error ? error->sentence() : "its stagecastd sent an unexpected message");
    }
}

void RootProbe::finish(Said said, const std::string& why) {
    alarm_.set(std::nullopt);
    const std::string kept = why;
    link_.reset();  // First, so that its end causes no second answer.
    if (const OnAnswer call = std::exchange(on_answer_, nullptr)) {
        call(said, kept);
    }
}

}  // namespace stage
