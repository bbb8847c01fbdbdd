#include "stager/daemon/ask_server.h"

#include "stager/daemon/planning/requeued_request.h"
#include "stager/link/link.h"
#include "transport/base/log.h"

#include <algorithm>
#include <utility>

namespace stage {

void AskServer::on_ask(const AskMessage& message, std::unique_ptr<DrivenLink> link) {
    const TellMessage known = hooks_.tell(message.key);
    if (known.word != TellWord::unannounced || !may_announce(message)) {
        answer(std::move(link), known);
        return;
    }
    const Position question = question_of(*message.request, link->link().peer_name());
    if (question == questions_.end() || question->links.size() >= kMaxWaitingLinks) {
        answer(std::move(link), TellMessage{TellWord::queued});
        return;
    }
    link->set_on_change([] {});
    question->links.push_back(std::move(link));
}

bool AskServer::may_announce(const AskMessage& message) const {
    return is_request_of(message.request, message.key) && hooks_.has_ended(message.key.job_id);
}

/// The end if slurmctld is asked about too many jobs.
AskServer::Position AskServer::question_of(const StageRequest& request,
                                           const std::string& sender) {
    const auto known = std::ranges::find(
        questions_, request.key, [](const Question& one) { return one.request.key; });
    if (known != questions_.end() || questions_.size() >= kMaxAskedJobs) {
        return known;
    }
    const auto question = questions_.emplace(questions_.end(), basics_);
    question->request = request;
    question->sender = sender;
    question->asker.ask(
        JobStateQuestion{request.key.job_id},
        [this, question](const Result<SlurmAnswer>& said) { on_job(question, said); });
    return question;
}

void AskServer::on_job(Position question, const Result<SlurmAnswer>& said) {
    const StageKey key = question->request.key;
    const auto request =
        confirmed_request(question->request, question->sender, links_.node_name, said);
    if (request) {
        basics_.log.info(
            "no prolog has announced a requeued job here; it is staged by another node's word",
            {{"job", key.job_id}, {"restart", key.restart}, {"node", question->sender}});
        hooks_.announce(*request);
    }
    const TellMessage word = request ? TellMessage{TellWord::queued} : hooks_.tell(key);
    for (auto& link : std::exchange(question->links, {})) {
        answer(std::move(link), word);
    }
    basics_.loop.defer([this, question] { questions_.erase(question); });
}

void AskServer::answer(std::unique_ptr<DrivenLink> link, const TellMessage& message) {
    send_last(basics_.loop, std::move(link), encode(message));
}

}  // namespace stage
