#include "stager/daemon/base/slurm_asker.h"

#include "stager/daemon/base/children.h"

#include <sys/epoll.h>

#include <algorithm>

namespace stage {

SlurmAsker::SlurmAsker(Loop& loop, Children& children)
    : loop_{loop},
      children_{children},
      alarm_{loop, [this] {
                 finish(Error{Blame::node, "Slurm does not answer; is slurmctld reachable?"});
             }} {
}

SlurmAsker::~SlurmAsker() {
    drop();
}

void SlurmAsker::ask(const SlurmQuestion& question, OnAnswer on_answer, Duration timeout) {
    drop();
    on_answer_ = std::move(on_answer);
    auto query = SlurmQuery::start(children_.spawner(), kRoleSlurmQuery, question, loop_.now());
    if (!query) {
        alarm_.set(loop_.now());
        return;
    }
    query_.emplace(std::move(*query));
    alarm_.set(std::min(query_->deadline(), loop_.now() + timeout));
    static_cast<void>(loop_.watch(query_->fd(), EPOLLIN, [this](auto) {
        query_->on_readable();
        look();
    }));
}

void SlurmAsker::look() {
    if (query_->answer()) {
        finish(*query_->answer());
    }
}

void SlurmAsker::finish(const Result<SlurmAnswer>& answer) {
    const Result<SlurmAnswer> kept = answer;
    const OnAnswer call = on_answer_;
    drop();
    call(kept);
}

void SlurmAsker::drop() {
    alarm_.set(std::nullopt);
    if (query_) {
        loop_.forget(query_->fd());
        query_.reset();
    }
}

}  // namespace stage
